import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tplspider.keylist import KeyLine, KeyList
from tplspider.search.session import SearchOptions

Write = Callable[[str, bytes], str]

A, B, C = (f"https://example.org/{name}" for name in "abc")


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(name: str, data: bytes) -> str:
        (tmp_path / name).write_bytes(data)
        return str(tmp_path / name)

    return write


def read(name: str, column: str = "") -> list[KeyLine]:
    return list(KeyList(name, column))


def addresses(lines: list[KeyLine]) -> dict[int, str]:
    return {line.number: line.address for line in lines if not line.fault}


def bad_lines(lines: list[KeyLine]) -> list[int]:
    found = []
    for line in lines:
        try:
            line.key_page(SearchOptions())
        except ValueError:
            found.append(line.number)
    return found


def test_plain_text(write: Write) -> None:
    text = f"# keys\n\n  {A}\n{B}#part\n \t\n  # {C}\n{C} # no comment\n"
    lines = read(write("keys.txt", text.encode()))
    assert addresses(lines) == {3: A, 4: f"{B}#part", 7: f"{C} # no comment"}
    assert {line.input for line in lines} == {None}
    assert bad_lines(lines) == [7]


def test_a_line_is_recognized_by_its_mark(write: Write) -> None:
    first, second = read(write("keys.txt", f"{A}\n{B}\n".encode()))
    (again,) = read(write("other.txt", f"{B}\n".encode()))
    assert second.mark == again.mark != first.mark
    one, two = read(write("keys.csv", f"url,id\n{A},1\n{A},2\n".encode()))
    assert one.mark != two.mark


def test_csv(write: Write) -> None:
    text = (
        'id,url,tpl_n,tpl_max_seconds,note\n7,https://example.org/a,5,,"two\nlines, and ""quotes"""'
        "\n\n8,https://example.org/b,,1.5,\n"
    )
    lines = read(write("keys.csv", text.encode()))
    assert [(line.number, line.address, line.options, line.input) for line in lines] == [
        (2, A, {"n": "5"}, {"id": "7", "note": 'two\nlines, and "quotes"'}),
        (5, B, {"max_seconds": "1.5"}, {"id": "8", "note": ""}),
    ]
    first, second = (line.key_page(SearchOptions(n=4)) for line in lines)
    assert first.options == SearchOptions(n=5)
    assert second.options == SearchOptions(n=4, max_seconds=1.5)
    assert first.line == lines[0]


@pytest.mark.parametrize("name", ["keys.tsv", "keys.jl"])
def test_options_are_columns_of_their_own(write: Write, name: str) -> None:
    """A column of the user's that is called like an option is the user's."""
    row = {"url": A, "n": "many", "strategy": "none", "max_loads": "-1", "tpl_n": "2"}
    delimiter = "\t" if name == "keys.tsv" else ","
    text = "\n".join(delimiter.join(part) for part in (row.keys(), row.values()))
    data = json.dumps(row) if name == "keys.jl" else text
    (line,) = read(write(name, data.encode()))
    assert line.key_page(SearchOptions()).options == SearchOptions(n=2)
    assert line.input == {"n": "many", "strategy": "none", "max_loads": "-1"}


@pytest.mark.parametrize(
    "options", [{"tpl_n": "0"}, {"tpl_strategy": "best"}, {"tpl_scope": 5}, {"tpl_strategy": ["x"]}]
)
def test_wrong_options_are_a_fault_of_their_line(write: Write, options: dict[str, Any]) -> None:
    rows = [{"url": A}, {"url": A, **options}, {"url": B}]
    lines = read(write("keys.jl", "\n".join(map(json.dumps, rows)).encode()))
    assert bad_lines(lines) == [2]


def test_a_column_of_another_name(write: Write) -> None:
    (line,) = read(write("keys.CSV", f"page,url\n{A},mine\n".encode()), column="page")
    assert (line.address, line.input) == (A, {"url": "mine"})
    row = {"page": A, "url": "mine"}
    (line,) = read(write("keys.JL", json.dumps(row).encode()), column="page")
    assert (line.address, line.input) == (A, {"url": "mine"})


@pytest.mark.parametrize(
    ("name", "delimiter"),
    [("keys.csv", ","), ("keys.csv", ";"), ("keys.csv", "\t"), ("keys.tsv", "\t")],
)
def test_delimiters(write: Write, name: str, delimiter: str) -> None:
    path = Path(write(name, b""))
    rows = [["my id", "url", ""], ["1", A, ""], [f'x"{delimiter}y', B, ""]]
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    lines = read(str(path))
    assert [line.input for line in lines] == [{"my id": "1"}, {"my id": f'x"{delimiter}y'}]
    assert bad_lines(lines) == []


def test_malformed_records(write: Write) -> None:
    rows = ["url,id", A, f"{A},1,2", ",3", f"{B},6"]
    lines = read(write("keys.csv", "\n".join(rows).encode()))
    assert bad_lines(lines) == [2, 3, 4]
    assert (lines[-1].number, lines[-1].address, lines[-1].input) == (5, B, {"id": "6"})


@pytest.mark.parametrize("name", ["keys.jsonl", "keys.jl.gz"])
def test_json_lines(write: Write, name: str) -> None:
    rows: list[dict[str, Any]] = [
        {"url": A, "tpl_n": 5, "tpl_strategy": "", "tpl_scope": None, "id": {"deep": [1.5, None]}},
        {"url": B, "tpl_max_loads": "7", "n": 4},
    ]
    data = "\n \n".join(json.dumps(row) for row in rows).encode()
    lines = read(write(name, gzip.compress(data) if name.endswith("gz") else data))
    assert [(line.number, line.address, line.options, line.input) for line in lines] == [
        (1, A, {"n": 5}, {"id": {"deep": [1.5, None]}}),
        (3, B, {"max_loads": "7"}, {"n": 4}),
    ]


DEEP = f'{{"url": "x", "id": {"[" * 100_000}'
MALFORMED = ("https://example.org/", '["x"]', '{"id": 1}', '{"url": 5}', DEEP)


@pytest.mark.parametrize("text", MALFORMED, ids=lambda text: text[:30])
def test_malformed_json_lines(write: Write, text: str) -> None:
    data = f'{{"url": "{A}"}}\n{text}\n{{"url": "{B}"}}\n'.encode()
    lines = read(write("keys.jl", data))
    assert bad_lines(lines) == [2]
    assert addresses([lines[0], lines[2]]) == {1: A, 3: B}


@pytest.mark.parametrize("name", ["keys.csv", "keys.jl"])
def test_not_utf_8(write: Write, name: str) -> None:
    start = {"keys.csv": b"url\n", "keys.jl": b"\n"}[name]
    before, after = (b'{"url": "', b'"}') if name == "keys.jl" else (b"", b"")
    rows = [before + row + after for row in (A.encode(), b"http://caf\xe9.example/", B.encode())]
    lines = read(write(name, start + b"\n".join(rows)))
    assert addresses(lines) == {2: A, 4: B}
    assert bad_lines(lines) == [3]


@pytest.mark.parametrize(
    ("name", "column", "data", "word"),
    [
        ("keys.csv", "", b"page,id\nx,1\n", "'url'"),
        ("keys.csv", "", b"url,id,id\nx,1,2\n", "'id'"),
        ("keys.csv", "", b"", "no address"),
        ("keys.jl", "", b" \n", "no address"),
        ("keys.txt", "page", b"https://example.org/\n", "'page'"),
        ("keys.json", "", b"[]", "JSON lines"),
        ("keys.gz", "", b"https://example.org/\n", "gzip"),
        ("keys.gz", "", gzip.compress(b"https://example.org/\n", mtime=0)[:15], "end"),
    ],
)
def test_unreadable_lists(write: Write, name: str, column: str, data: bytes, word: str) -> None:
    with pytest.raises(ValueError, match=word) as caught:
        KeyList(write(name, data), column)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", [".", "missing.csv", "http://example.org/keys"])
def test_not_a_file(name: str) -> None:
    with pytest.raises(ValueError, match="directory"):
        KeyList(name)

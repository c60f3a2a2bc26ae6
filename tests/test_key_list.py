from __future__ import annotations

import csv
import gzip
import json
import os
import subprocess
import sys
import threading
import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tplspider.old.crawl.batch.key_list import ListLine, open_list

if TYPE_CHECKING:
    from collections.abc import Callable

    Write = Callable[[str, bytes], str]

A, B, C = (f"https://example.org/{name}" for name in "abc")


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a file into the folder that we are in."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, data: bytes) -> str:
        (tmp_path / name).write_bytes(data)
        return name

    return write


def read(name: str, column: str = "") -> list[ListLine]:
    with open_list(name, column) as found:
        lines = list(found)
        assert found.count() == len(lines)
    return lines


def urls(lines: list[ListLine]) -> list[object]:
    return [line.values.get("url") for line in lines]


def faults(lines: list[ListLine]) -> dict[int, str]:
    return {line.number: line.fault for line in lines if line.fault}


def test_plain_text(write: Write) -> None:
    text = f"# keys\n\n  {A}\n{B}#part\n \t\n  # {C}\n{C} # no comment\n"
    lines = read(write("keys.txt", text.encode()))
    assert [(line.number, line.values, line.input, line.fault) for line in lines] == [
        (3, {"url": A}, None, ""),
        (4, {"url": f"{B}#part"}, None, ""),
        (7, {"url": f"{C} # no comment"}, None, ""),
    ]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_ends_of_lines(write: Write, end: bytes, bom: bytes, *, last: bool) -> None:
    data = end.join([A.encode(), b"", "https://bücher.example/".encode()])
    lines = read(write("keys", bom + data + end * last))
    assert [(line.number, line.values["url"]) for line in lines] == [
        (1, A),
        (3, "https://bücher.example/"),
    ]
    [first, _] = lines
    assert first.mark == read(write("other", A.encode()))[0].mark
    assert len(first.mark) == 8


@pytest.mark.parametrize("shift", range(4))
def test_an_end_across_two_chunks(write: Write, shift: int) -> None:
    filler = "#" * (65_536 - shift)
    for end in ("\r\n", "\r\r", "\n\n"):
        lines = read(write("keys", f"{filler}{end}{A}{end}{B}".encode()))
        step = 1 if end == "\r\n" else 2
        assert [(line.number, line.values["url"]) for line in lines] == [
            (1 + step, A),
            (1 + 2 * step, B),
        ]


def test_csv(write: Write) -> None:
    text = (
        'id,url,n,max_seconds,note\n7,https://example.org/a,5,,"two\nlines, and ""quotes"""\n\n'
        "8,https://example.org/b, ,1.5,\n"
    )
    lines = read(write("keys.csv", text.encode()))
    assert [(line.number, line.values, line.input) for line in lines] == [
        (2, {"url": A, "n": "5"}, {"id": "7", "note": 'two\nlines, and "quotes"'}),
        (5, {"url": B, "max_seconds": "1.5"}, {"id": "8", "note": ""}),
    ]
    assert lines[0].text == '7,https://example.org/a,5,,"two lines, and ""quotes"""'
    assert lines[0].mark != read(write("keys.csv", text.replace("two\n", "two").encode()))[0].mark


def test_a_column_of_another_name(write: Write) -> None:
    data = f"page,url\n{A},mine\n".encode()
    [line] = read(write("keys.CSV", data), column="page")
    assert (line.values, line.input) == ({"url": A}, {"url": "mine"})
    row = {"page": A, "url": "mine"}
    [line] = read(write("keys.JL", json.dumps(row).encode()), column="page")
    assert (line.values, line.input) == ({"url": A}, {"url": "mine"})


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiters_of_spreadsheets(write: Write, delimiter: str) -> None:
    rows = [["my id", "url", ""], ["1", A, ""], [f'x"{delimiter}y', B, ""]]
    with Path("keys.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    assert [line.input for line in read("keys.csv")] == [
        {"my id": "1"},
        {"my id": f'x"{delimiter}y'},
    ]


def test_records_out_of_form(write: Write) -> None:
    long = "x" * (csv.field_size_limit() + 1)
    rows = [
        "url,id",
        A,
        f"{A},1,2",
        ",3",
        f'"{A}"x,4',
        f"{A},{long}",
        f"{A},\0",
        f'{A},"5',
        f"{B},6",
    ]
    lines = read(write("keys.csv", "\n".join(rows).encode()))
    assert faults(lines) == {
        2: "1 cells, and the header has 2",
        3: "3 cells, and the header has 2",
        4: "'url' is empty",
        5: "not CSV: ',' expected after '\"'",
        6: "not CSV: field larger than field limit (131072)",
        7: "a NUL byte is in it",
        8: "not CSV: a quote in it is not closed",
    }
    assert (lines[-1].number, lines[-1].values, lines[-1].input) == (9, {"url": B}, {"id": "6"})


def test_a_quote_that_is_never_closed_costs_a_line(write: Write) -> None:
    rows = ["url,id", f'{A},"', *[f"{B},{number}" for number in range(20_000)]]
    lines = read(write("keys.csv", "\n".join(rows).encode()))
    assert list(faults(lines)) == [2]
    assert len(lines) == 20_001


@pytest.mark.parametrize(
    ("name", "column", "data", "words"),
    [
        ("keys.csv", "", b"page,id\nx,1\n", "no column 'url' in its header (there are 'page', 'i"),
        ("keys.csv", "page", b"url\nx\n", "no column 'page' in its header (there are 'url')"),
        ("keys.csv", "", b"url,id,id\nx,1,2\n", "two columns are called 'id'"),
        ("keys.csv", "", b"url,\xe9\nx,1\n", "line 1, its header: not UTF-8 at byte 5"),
        ("keys.csv", "", b"url,id\n\n", "no address in it"),
        ("keys.csv", "", b"", "no address in it"),
        ("keys.jl", "", b" \n", "no address in it"),
        ("keys.txt", "", b"# none\n\n", "no address in it"),
        ("keys.txt", "page", b"https://example.org/\n", "plain text has no column 'page'"),
        ("keys.json", "", b"[]", "expected JSON lines (.jl, .jsonl, .jsonlines), not .json"),
        ("keys.gz", "", b"https://example.org/\n", "it is not gzip"),
        (
            "keys.gz",
            "",
            gzip.compress(b"https://example.org/\n", mtime=0)[:15],
            "its gzip data is cut off",
        ),
        ("keys.gz", "", b"", "no address in it"),
        ("x.warc", "", b"WARC/1.0\r\n", "this is a WARC file: scrapy archive searches in it"),
        ("x.warc.gz", "", gzip.compress(b"WARC/1.1\r\n"), "this is a WARC file"),
    ],
)
def test_refused_at_once(write: Write, name: str, column: str, data: bytes, words: str) -> None:
    with pytest.raises(ValueError, match="urls=") as caught:
        open_list(write(name, data), column)
    assert str(caught.value).startswith(f"urls='{name}': {words}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (".", "Is a directory"),
        ("missing.csv", "No such file or directory"),
        ("keys/keys.txt", "Not a directory"),
        ("a\0b", "embedded null byte"),
        ("http://example.org/keys", "expected a local file or folder, not an address"),
        ("/proc/self/mem", "it cannot be read any further: Input/output error"),
    ],
)
def test_not_a_file(write: Write, name: str, words: str) -> None:
    write("keys", b"")
    with pytest.raises(ValueError, match="urls=") as caught:
        open_list(name)
    assert str(caught.value) == f"urls={name!r}: {words}"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(write: Write) -> None:
    Path(write("keys", A.encode())).chmod(0)
    with pytest.raises(ValueError, match=r"^urls='keys': Permission denied$"):
        open_list("keys")


def test_a_password_in_the_name_is_not_shown() -> None:
    with pytest.raises(ValueError, match="urls=") as caught:
        open_list("https://me:secret@example.org/keys")
    assert "secret" not in str(caught.value)


def test_confined(write: Write, tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    write("inside/keys.txt", A.encode())
    write("keys.txt", B.encode())
    with open_list("keys.txt", confine=True, folder="inside") as found:
        assert urls(list(found)) == [A]
        assert found.count() == 1
    for name in ("-", "../keys.txt", str(tmp_path / "keys.txt"), "file:///keys.txt"):
        with pytest.raises(ValueError, match="expected a relative name inside"):
            open_list(name, confine=True, folder="inside")


@pytest.mark.parametrize("name", ["keys.jl", "keys.jsonl", "keys.jsonlines", "keys", "keys.jl.gz"])
def test_json_lines(write: Write, name: str) -> None:
    rows: list[dict[str, Any]] = [
        {"url": A, "n": 5, "strategy": "", "scope": None, "id": {"deep": [1.5, None]}},
        {"url": B, "max_loads": "7", "witness": False, "n": [], "N": 4},
    ]
    data = "\n \n".join(json.dumps(row) for row in rows).encode()
    lines = read(write(name, gzip.compress(data) if name.endswith("gz") else data))
    assert [(line.number, line.values, line.input) for line in lines] == [
        (1, {"url": A, "n": 5}, {"id": {"deep": [1.5, None]}}),
        (3, {"url": B, "max_loads": "7", "witness": False, "n": []}, {"N": 4}),
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("https://example.org/", "not JSON: Expecting value at character 1"),
        ('{"url": "x"', "not JSON: Expecting ',' delimiter at character 12"),
        ('{"url": "x"} {"url": "y"}', "not JSON: Extra data at character 14"),
        ('["x"]', "not a JSON object"),
        ('{"id": 1}', "no 'url'"),
        ('{"URL": "x"}', "no 'url'"),
        ('{"url": null}', "'url' is empty"),
        ('{"url": " "}', "'url' is empty"),
        ('{"url": 5}', "'url' is not text"),
        ('{"url": ["x"]}', "'url' is not text"),
        ('{"url": "x", "id": NaN}', "NaN is not a JSON number"),
        ('{"url": "x", "id": -Infinity}', "-Infinity is not a JSON number"),
        ('{"url": "x", "id": 1e999}', "1e999 is not a JSON number"),
        (f'{{"url": "x", "id": {"1" * 5000}}}', "a number of 5000 digits is not a JSON number"),
        ('{"url": "x", "url": "y"}', "'url' is there twice"),
        ('{"url": "x", "id": {"a": 1, "a": 1}}', "'a' is there twice"),
        ('{"url": "x", "id": "\\ud800"}', "half a character (a surrogate) is in it"),
        (f'{{"url": "x", "id": {"[" * 100_000}', "nested too deep"),
        (f'{{"url": "x", "id": {"[" * 70}{"]" * 70}}}', "nested too deep"),
        (f'{{"url": "x", "id": [{"[]," * 70}0]}}', ""),
        ('{"url": "x", "id": "\\ud83d\\ude00"}', ""),
        ('{"url": "x\0"}', "a NUL byte is in it"),
    ],
)
def test_json_lines_out_of_form(write: Write, text: str, fault: str) -> None:
    data = f'{{"url": "{A}"}}\n{text}\n{{"url": "{B}"}}\n'.encode()
    first, second, third = read(write("keys.jl", data))
    assert (first.values, third.values) == ({"url": A}, {"url": B})
    assert (second.number, second.fault) == (2, fault)
    assert bool(second.values) == (not fault)


@pytest.mark.parametrize("name", ["keys.txt", "keys.csv", "keys.jl"])
def test_not_utf_8(write: Write, name: str) -> None:
    start = {"keys.txt": b"# caf\xe9\n", "keys.csv": b"url\n", "keys.jl": b"\n"}[name]
    before, after = (b'{"url": "', b'"}') if name == "keys.jl" else (b"", b"")
    rows = [before + row + after for row in (A.encode(), b"http://caf\xe9.example/", B.encode())]
    lines = read(write(name, start + b"\n".join(rows)))
    assert urls(lines) == [A, None, B]
    assert faults(lines) == {3: f"not UTF-8 at byte {len(before) + 11}"}
    assert "http://caf\N{REPLACEMENT CHARACTER}.example/" in lines[1].text


@pytest.mark.parametrize("name", ["keys.txt", "keys.csv", "keys.jl"])
def test_what_is_shown_of_a_line(write: Write, name: str) -> None:
    key = f"https://me:secret@example.org/{'x' * 300}"
    data = json.dumps({"url": key, "n": "a@b"}) if name == "keys.jl" else key
    [line] = read(write(name, f"url\n{data}".removeprefix("url\n" * (name != "keys.csv")).encode()))
    assert line.values["url"] == key
    assert "secret" not in line.text
    assert "***@" in line.text
    assert len(line.text) <= 200


def test_lines_that_are_too_long(write: Write) -> None:
    for name, start in (("keys.txt", ""), ("keys.csv", "url\n"), ("keys.jl", "")):
        rows = [A, "http://x/" + "y" * 1_000_000, B, "http://x/" + "y" * 1_000_001]
        if name == "keys.jl":
            rows = [json.dumps({"url": row}) for row in rows]
        lines = read(write(name, f"{start}{chr(10).join(rows)}".encode()))
        assert urls(lines) == [A, None, B, None]
        assert set(faults(lines).values()) == {"the line is longer than 1 MB"}
        assert lines[1].mark != lines[3].mark
        assert len(lines[1].text) == 200
    exact = "http://x/" + "y" * (1_000_000 - 9)
    assert urls(read(write("keys.txt", f"{exact}\n{A}".encode()))) == [exact, A]


def test_a_bomb(write: Write) -> None:
    data = gzip.compress(A.encode() + b"\n" + b"x" * 20_000_000 + b"\n" + B.encode())
    name = write("keys.gz", data)
    del data
    tracemalloc.start()
    try:
        lines = read(name)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert urls(lines) == [A, None, B]
    assert peak < 8_000_000


@pytest.mark.slow
def test_gzip_that_is_damaged(write: Write) -> None:
    rows = [f"https://example.org/{number * 7919 % 100_000}" for number in range(20_000)]
    whole = gzip.compress("\n".join(rows).encode())
    middle = len(whole) // 2
    for data, fault in (
        (whole[:middle], "its gzip data is cut off"),
        (whole[:-8], "its gzip data is cut off"),
        (whole[:middle] + b"\xff" * 100 + whole[middle + 100 :], "its gzip data is damaged"),
        (whole + b"more", "its gzip data is damaged"),
    ):
        lines = read(write("keys.txt.gz", data))
        *before, last = lines
        assert len(before) > 1000
        assert last.fault == fault
        assert urls(before)[:1000] == rows[:1000]
        if len(data) != len(whole):  # else there is nonsense in between
            assert urls(before) == rows[: len(before)]
            assert last.number == len(lines)
    assert urls(read(write("keys.txt.gz", whole + gzip.compress(b"\nx")))) == [*rows, "x"]


def test_a_file_that_becomes_shorter(write: Write) -> None:
    rows = [f"https://example.org/{number}" for number in range(20_000)]
    with open_list(write("keys.txt", "\n".join(rows).encode())) as found:
        Path("keys.txt").write_bytes(b"")
        *before, last = found
        assert urls(before) == rows[: len(before)]
        assert 1000 < len(before) < 10_000
        assert last.fault == "the file has become shorter while it was read"


def test_a_file_that_cannot_be_read_any_further(write: Write) -> None:
    rows = [f"https://example.org/{number}" for number in range(20_000)]
    with open_list(write("keys.txt", "\n".join(rows).encode())) as found:
        folder = os.open(".", os.O_RDONLY)
        os.dup2(folder, found._source.file.fileno())
        os.close(folder)
        *before, last = found
        assert urls(before) == rows[: len(before)]
        assert last.fault == "it cannot be read any further: Is a directory"


def test_a_file_that_vanishes(write: Write) -> None:
    rows = [f"https://example.org/{number}" for number in range(20_000)]
    with open_list(write("keys.txt", "\n".join(rows).encode())) as found:
        Path("keys.txt").unlink()
        assert found.count() is None
        assert urls(list(found)) == rows  # it is open


def test_a_list_that_is_closed_has_no_lines(write: Write) -> None:
    found = open_list(write("keys.txt", f"{A}\n{B}\n".encode()))
    lines = iter(found)
    assert next(lines).values == {"url": A}
    found.close()
    found.close()
    assert list(lines) == []


def test_lines_can_be_kept(write: Write) -> None:
    row = {"url": "https://bücher.example/", "n": 5, "id": [1, {"a": None}]}
    data = f"{json.dumps(row)}\nnonsense\n".encode()
    for line in read(write("keys.jl", data)):
        assert ListLine.from_json(line.to_json()) == line
    assert "\n" not in line.to_json()


def test_a_fifo_is_a_stream(tmp_path: Path) -> None:
    name = tmp_path / "keys.csv"
    os.mkfifo(name)
    go_on = threading.Event()

    def feed() -> None:
        with name.open("w") as file:
            file.write(f"url\n{A}\n")
            file.flush()
            go_on.wait()
            file.write(f"{B}\n")

    writer = threading.Thread(target=feed)
    writer.start()
    with open_list(str(name)) as found:
        assert found.count() is None
        lines = iter(found)
        assert next(lines).values == {"url": A}  # though there is no more yet
        go_on.set()
        assert urls(list(lines)) == [B]
    writer.join()


_READ = """
import sys
from tplspider.old.crawl.batch.key_list import open_list
try:
    with open_list("-", *sys.argv[1:]) as found:
        print(found.label, found.count(), flush=True)
        for line in found:
            print(line.number, line.values, line.input, line.fault, flush=True)
except ValueError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "data", "output"),
    [
        ((), f"# keys\n{A}\n", f"2 {{'url': '{A}'}} None "),
        ((), f'\n{{"url": "{A}", "id": 3}}\n', f"2 {{'url': '{A}'}} {{'id': 3}} "),
        ((), "", ""),
        (("page",), f'{{"page": "{A}"}}', f"1 {{'url': '{A}'}} None "),
        (("page",), A, "1 {} None not JSON: Expecting value at character 1"),
    ],
)
def test_standard_input(arguments: tuple[str, ...], data: str, output: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _READ, *arguments],
        input=data,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.rstrip("\n") == f"urls='-' None\n{output}".rstrip("\n")


@pytest.mark.slow
def test_standard_input_that_is_closed() -> None:
    command = f"exec '{sys.executable}' -c \"$0\" <&-"
    done = subprocess.run(
        ["/bin/sh", "-c", command, _READ], capture_output=True, text=True, check=True
    )
    assert done.stdout == "urls='-': standard input is closed\n"


@pytest.mark.slow
def test_standard_input_that_does_not_block() -> None:
    """As a parent may leave it: then there is nothing to read for the time being."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with subprocess.Popen(
        [sys.executable, "-c", _READ], stdin=reading, stdout=subprocess.PIPE, text=True
    ) as process:
        os.close(reading)
        assert process.stdout is not None
        assert process.stdout.readline() == "urls='-' None\n"
        os.write(writing, f"{A}\n".encode())
        os.close(writing)
        output = process.stdout.read()
    assert f"1 {{'url': '{A}'}} None" in output


_MEASURE = """
import resource
from itertools import islice
from tplspider.old.crawl.batch.key_list import open_list
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open_list("keys.csv") as found:
    lines = sum(1 for _ in islice(found, 5_000))
    before = peak()
    lines += sum(1 for _ in found) + found.count()
print(lines, peak() - before)
"""


@pytest.mark.slow
def test_many_lines_take_no_memory(write: Write) -> None:
    write("keys.csv", b"url,id\n" + b"https://example.org/,1\n" * 200_000)
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    lines, kilobytes = map(int, done.stdout.split())
    assert lines == 400_000
    assert kilobytes < 2_000  # as a list of addresses they would be 20 MB

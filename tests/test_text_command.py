import csv
import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.support.crawls import SETTINGS, Serve, run_scrapy
from tests.support.template_site import CONTENT, pages_of, routes_of


@pytest.fixture(autouse=True)
def log_level_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SETTINGS, "LOG_LEVEL")


@pytest.mark.quick
def test_the_text_and_nothing_else(serve: Serve, tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    summary = tmp_path / "summary.json"
    given = ("text", f"{server.url}/", "-n", "2", "-a", f"summary={summary}")
    done = run_scrapy(*given, folder=tmp_path)
    assert (done.code, done.stdout, done.log) == (0, CONTENT[""] + "\n", "")
    assert done.summary["requested_size"] == 2
    for form, text in (("--html", f"<p>{CONTENT['']}</p>"), ("--markdown", CONTENT[""])):
        done = run_scrapy("text", form, f"{server.url}/", folder=tmp_path)
        assert (done.code, done.stdout, done.log) == (0, f"{text}\n", "")


def test_why_lines_are_kept(serve: Serve, tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    done = run_scrapy("text", "--explain", f"{server.url}/", folder=tmp_path)
    assert done.code == 0
    lines = done.stdout.splitlines()
    assert len(lines) == len(CONTENT[""].splitlines())
    sign, score, *_ = lines[0].split()
    assert (sign, CONTENT[""][:20] in lines[0]) == ("+", True)
    assert float(score)
    assert lines[0].endswith(")")  # the features that weighed most


def test_a_terminal_that_cannot_show_the_text(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    server = serve("menu", routes_of(pages_of({"": "Äpfel, 苹果"})))
    done = run_scrapy("text", f"{server.url}/", folder=tmp_path)
    assert (done.code, done.stdout, done.log) == (0, "?pfel, ??\n", "")


def test_no_text(serve: Serve, tmp_path: Path) -> None:
    server = serve("menu")
    done = run_scrapy("text", f"{server.url}/missing", folder=tmp_path)
    assert (done.code, done.stdout) == (1, "")
    # The log may have a warning of its own, before.
    last = done.log.splitlines()[-1]
    assert f"{server.url}/missing: " in last
    assert "http-404" in last


def as_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_a_table(serve: Serve, tmp_path: Path) -> None:
    """The columns of the list first, then ours; a row for each line, in whatever order."""
    server = serve("menu", routes_of(pages_of()))
    listed = tmp_path / "mine.csv"
    lines = [
        ["url", "id", "title", "note"],
        ["", "short"],
        [f"{server.url}/a", "1", "Apples", "=1+1"],
        [f"{server.url}/b", "2", "Bees", "two,\nlines"],
        [f"{server.url}/missing", "3", "None", ""],
        ["ftp://x/", "4", "Wrong", ""],
        [f"{server.url}/a", "5", "Apples again", "x"],
    ]
    with listed.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(lines)
    command = ["text", "-i", str(listed), f"-O{tmp_path / 'table.csv'}", f"-sJOBDIR={tmp_path}/job"]
    done = run_scrapy(*command, folder=tmp_path)
    assert done.code == 1  # because of the lines that are wrong
    assert done.stdout == ""
    table = as_table(tmp_path / "table.csv")
    ours = "final_url outcome hint found_title main_text evidence evidence_pages loads".split()
    own = ("url", "id", "title", "note")
    assert {tuple(row) for row in table} == {(*own, *ours, "candidates")}
    rows = {row["id"]: row for row in table}
    assert sorted(rows) == ["1", "2", "3", "4", "5", "short"]
    assert len(table) == 6
    outcomes = {name: row["outcome"] for name, row in rows.items()}
    ends = {"3": "http-404", "4": "bad-input", "short": "bad-input"}
    assert outcomes == {**dict.fromkeys("125", "ok"), **ends}
    texts = {name: row["main_text"] for name, row in rows.items() if row["main_text"]}
    assert texts == {"1": CONTENT["a"], "2": CONTENT["b"], "5": CONTENT["a"]}
    assert [rows[name]["title"] for name in "125"] == ["Apples", "Bees", "Apples again"]
    assert rows["1"]["found_title"] == "Menu"
    assert (rows["1"]["note"], rows["2"]["note"]) == ("'=1+1", "two,\nlines")
    assert rows["1"]["final_url"] == rows["5"]["final_url"] == f"{server.url}/a"
    assert json.loads(rows["1"]["candidates"]) == []
    assert run_scrapy(*command, "--html", folder=tmp_path).code == 2  # another column
    assert len(json.loads(rows["1"]["evidence_pages"])) == int(rows["1"]["evidence"]) > 0
    assert rows["4"]["hint"]


def test_a_table_of_json_lines(serve: Serve, tmp_path: Path) -> None:
    """The first line says which columns there are; names for XML are made of all of them."""
    server = serve("menu", routes_of(pages_of()))
    listed = tmp_path / "mine.jl"
    first = {"url": f"{server.url}/a", "title": "mine", "first name": "Ann"}
    lines = [first, {"url": f"{server.url}/b", "id": 7}]
    listed.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + "x\n", "utf-8")
    feeds = [f"-O{tmp_path / 'table.csv'}", f"-O{tmp_path / 'table.xml'}"]
    done = run_scrapy("text", "-i", str(listed), "--markdown", *feeds, folder=tmp_path)
    assert done.code == 1
    table = {row["url"]: row for row in as_table(tmp_path / "table.csv")}
    assert {row["outcome"] for row in table.values()} == {"ok", "bad-input"}
    assert table[f"{server.url}/a"]["title"] == "mine"
    assert table[f"{server.url}/b"]["title"] == ""
    assert table[f"{server.url}/b"]["found_title"] == "Menu"
    assert table[f"{server.url}/b"]["main_markdown"] == CONTENT["b"]
    names = [row.findtext("first_name") for row in ET.parse(tmp_path / "table.xml").iter()]
    assert "Ann" in names


def test_a_table_on_standard_output(serve: Serve, tmp_path: Path) -> None:
    """Without -O it is lines of JSON there, of a list and of several addresses."""
    server = serve("menu", routes_of(pages_of()))
    listed = tmp_path / "mine.jl"
    lines: list[dict[str, object]] = [{"id": 7, "tags": ["x"], "url": f"{server.url}/a"}]
    lines += [{"url": "ftp://x/"}, {"url": f"{server.url}/b"}]
    listed.write_text("".join(json.dumps(line) + "\n" for line in lines) + "not JSON\n")
    done = run_scrapy("text", "-i", str(listed), folder=tmp_path)
    assert done.code == 1
    rows = [*map(json.loads, done.stdout.splitlines())]
    assert len(rows) == 4
    by_url = {row.get("url"): row for row in rows}
    first, wrong = by_url[f"{server.url}/a"], by_url["ftp://x/"]
    assert list(first)[:4] == ["id", "tags", "url", "final_url"]
    assert (first["id"], first["tags"]) == (7, ["x"])
    assert (first["outcome"], first["main_text"]) == ("ok", CONTENT["a"])
    assert wrong["outcome"] == "bad-input"
    assert by_url[f"{server.url}/b"]["main_text"] == CONTENT["b"]
    addresses = [f"{server.url}/{name}" for name in ("a", "missing")]
    done = run_scrapy("text", *addresses, "--html", folder=tmp_path)
    assert done.code == 1
    found = {row["url"]: row["main_html"] for row in map(json.loads, done.stdout.splitlines())}
    assert found == {addresses[0]: f"<p>{CONTENT['a']}</p>", addresses[1]: ""}

"""``scrapy text`` as a person at a terminal meets it."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from tests.support.crawls import PROJECT, SETTINGS, FixtureServer, run_scrapy
from tests.support.template_site import CONTENT, page, pages_of, routes_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture(autouse=True)
def log_level_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SETTINGS, "LOG_LEVEL")


@pytest.mark.quick
def test_the_text_and_nothing_else(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    summary = tmp_path / "summary.json"
    done = run_scrapy(
        *("text", f"{server.url}/", "-n", "2", "-a", f"summary={summary}"), folder=tmp_path
    )
    assert (done.code, done.stdout, done.log) == (0, CONTENT[""] + "\n", "")
    assert done.summary["requested_size"] == 2
    done = run_scrapy("text", "--html", f"{server.url}/", folder=tmp_path)
    assert (done.code, done.stdout, done.log) == (0, f"<p>{CONTENT['']}</p>\n", "")


def test_a_terminal_that_cannot_show_the_text(
    serve: Callable[..., FixtureServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    server = serve("menu", routes_of(pages_of({"": "Äpfel, 苹果"})))
    done = run_scrapy("text", f"{server.url}/", folder=tmp_path)
    assert (done.code, done.stdout, done.log) == (0, "?pfel, ??\n", "")


def test_a_reader_that_stops_early(serve: Callable[..., FixtureServer]) -> None:
    words = " ".join(f"word{number}" for number in range(50_000))
    server = serve("menu", routes_of(pages_of({"": words})))
    options = [f"-s{name}={value}" for name, value in SETTINGS.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "text", f"{server.url}/", *options],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    assert process.stderr
    assert process.stdout.read(5) == b"word0"
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(60) == 0


def test_no_text(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    server = serve("menu")
    done = run_scrapy("text", f"{server.url}/missing", folder=tmp_path)
    assert (done.code, done.stdout) == (1, "")
    # The log may have a warning of its own, before.
    last = done.log.splitlines()[-1]
    assert last.startswith(f"No text for {server.url}/missing: ")
    assert "http-404" in last
    assert "Traceback" not in done.log


@pytest.mark.parametrize("key", [b"<a href=/missing>x</a><p>Alone</p>", b"x<p>Alone</p>"])
def test_a_page_by_itself(serve: Callable[..., FixtureServer], tmp_path: Path, key: bytes) -> None:
    """There is always an answer, and a line that tells what it is worth."""
    server = serve("menu", routes_of({"": key}))
    done = run_scrapy("text", f"{server.url}/", folder=tmp_path)
    assert (done.code, done.stdout.split()) == (0, ["x", "Alone"])
    assert done.log.splitlines()[-1].startswith(f"{server.url}/: ")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("ftp://127.0.0.1/",), "url"),
        pytest.param(("URL", "-n", "0"), "n: ", marks=pytest.mark.quick),
        (("URL", "-a", "nn=3"), "nn"),
        ((), "address"),
        (("URL", "-i", "list.txt"), "-i"),
        (("-i", "missing.txt"), "urls: "),
        (("FOLDER/x.warc.gz",), "WARC"),
        (("--html", "--markdown", "URL"), "--markdown"),
    ],
)
def test_wrong_arguments(
    serve: Callable[..., FixtureServer], tmp_path: Path, arguments: tuple[str, ...], word: str
) -> None:
    server = serve("menu")
    (tmp_path / "x.warc.gz").touch()
    named = {"URL": server.url, "FOLDER": str(tmp_path)}
    given = (re.sub("URL|FOLDER", lambda found: named[found[0]], each) for each in arguments)
    done = run_scrapy("text", *given, folder=tmp_path)
    assert done.code == 2
    (line,) = (done.stdout + done.log).splitlines()
    assert line.startswith("scrapy text: error: ")
    assert word in line
    assert server.log == []


def rows_of(stdout: str) -> dict[str, dict[str, str]]:
    """The lines of JSON, by the paths of their pages."""
    rows = map(json.loads, stdout.splitlines())
    return {row["requested_url"].rpartition("/")[2]: row for row in rows}


def test_many_pages(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    """A line of JSON for each; what cannot be had is told, and the others go on."""
    server = serve("menu", routes_of(pages_of()))
    names = ("a", "missing", "b", "a")
    feed = tmp_path / "out.jl"
    addresses = [f"{server.url}/{name}" for name in names]
    done = run_scrapy("text", *addresses, "ftp://x", f"-O{feed}", folder=tmp_path)
    assert done.code == 1
    rows = rows_of(done.stdout)
    assert {name: row["main_text"] for name, row in rows.items()} == {
        name: CONTENT[name] for name in "ab"
    }
    assert len(done.stdout.splitlines()) == 2
    assert set(rows["a"]) == {"requested_url", "title", "main_text"}
    told = [line for line in done.log.splitlines() if line.startswith("No text for ")]
    assert len(told) == 2
    assert {line.split(": ")[0].removeprefix("No text for ") for line in told} == {
        *("ftp://x", f"{server.url}/missing")
    }
    kept = [json.loads(line) for line in feed.read_text("utf-8").splitlines()]
    assert {row["main_text"] for row in kept} == {CONTENT["a"], CONTENT["b"]}


def test_a_list_of_pages(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    pages = tmp_path / "pages.txt"
    pages.write_text(f"{server.url}/a\n# not this\n{server.url}/b\n")
    done = run_scrapy("text", "-i", str(pages), "--all", "--html", folder=tmp_path)
    assert (done.code, done.log) == (0, "")
    rows = rows_of(done.stdout)
    assert set(rows) == {"a", "b"}
    assert CONTENT["b"] in rows["b"]["content_html"]
    assert set(rows["b"]) == {"requested_url", "title", "content_html", "line", "input"}
    assert str(rows["b"]["line"]) == "3"


def test_a_reader_of_many_that_stops_early(serve: Callable[..., FixtureServer]) -> None:
    """Nobody wants the rest: it is not searched."""
    names = [f"page{number}" for number in range(200)]
    server = serve("menu", routes_of({**pages_of(), **dict.fromkeys(names, page(CONTENT["a"]))}))
    addresses = [f"{server.url}/{name}" for name in names]
    options = [f"-s{name}={value}" for name, value in SETTINGS.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "text", *addresses, *options],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    assert process.stderr
    assert json.loads(process.stdout.readline())["main_text"] == CONTENT["a"]
    process.stdout.close()
    log = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 0, log
    assert "Traceback" not in log
    assert len({path for path in server.log if "page" in path}) < 200


def as_table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def test_a_table(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
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
    done = run_scrapy("text", "-i", str(listed), f"-O{tmp_path / 'table.csv'}", folder=tmp_path)
    assert done.code == 1  # because of the lines that are wrong
    assert done.stdout == ""
    table = as_table(tmp_path / "table.csv")
    ours = "final_url outcome hint found_title main_text evidence loads candidates".split()
    assert {tuple(row) for row in table} == {("url", "id", "title", "note", *ours)}
    rows = {row["id"]: row for row in table}
    assert sorted(rows) == ["1", "2", "3", "4", "5", "short"]
    assert len(table) == 6
    assert {name: row["outcome"] for name, row in rows.items()} == {
        **dict.fromkeys("125", "ok"),
        "3": "http-404",
        "4": "bad-input",
        "short": "bad-input",
    }
    texts = {name: row["main_text"] for name, row in rows.items() if row["main_text"]}
    assert texts == {"1": CONTENT["a"], "2": CONTENT["b"], "5": CONTENT["a"]}
    assert [rows[name]["title"] for name in "125"] == ["Apples", "Bees", "Apples again"]
    assert rows["1"]["found_title"] == "Menu"
    assert (rows["1"]["note"], rows["2"]["note"]) == ("'=1+1", "two,\nlines")
    assert rows["1"]["final_url"] == rows["5"]["final_url"] == f"{server.url}/a"
    assert json.loads(rows["1"]["candidates"])
    assert rows["4"]["hint"]


def test_a_table_of_json_lines(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
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


@pytest.mark.parametrize("name", ["table.jl", "table.json"])
def test_a_table_as_json(serve: Callable[..., FixtureServer], tmp_path: Path, name: str) -> None:
    server = serve("menu", routes_of(pages_of()))
    listed = tmp_path / "mine.jl"
    lines = [
        {"id": 7, "tags": ["x"], "url": f"{server.url}/a"},
        {"url": "ftp://x/"},
        {"url": f"{server.url}/b"},
    ]
    listed.write_text("".join(json.dumps(line) + "\n" for line in lines) + "not JSON\n")
    done = run_scrapy("text", "-i", str(listed), f"-O{tmp_path / name}", folder=tmp_path)
    assert done.code == 1
    text = (tmp_path / name).read_text("utf-8")
    rows = json.loads(text) if name.endswith("json") else [*map(json.loads, text.splitlines())]
    assert len(rows) == 4
    by_url = {row.get("url"): row for row in rows}
    first, wrong = by_url[f"{server.url}/a"], by_url["ftp://x/"]
    assert list(first)[:4] == ["id", "tags", "url", "final_url"]
    assert (first["id"], first["tags"]) == (7, ["x"])
    assert (first["outcome"], first["main_text"]) == ("ok", CONTENT["a"])
    assert first["candidates"]
    assert wrong["outcome"] == "bad-input"
    assert by_url[f"{server.url}/b"]["main_text"] == CONTENT["b"]

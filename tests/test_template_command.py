"""``scrapy template`` as a person at a terminal meets it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

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
        *("template", f"{server.url}/", "-n", "2", "-a", f"summary={summary}"), folder=tmp_path
    )
    assert (done.code, done.stdout, done.log) == (0, CONTENT[""] + "\n", "")
    assert done.summary["requested_size"] == 2
    done = run_scrapy("template", "--html", f"{server.url}/", folder=tmp_path)
    assert (done.code, done.stdout, done.log) == (0, f"<p>{CONTENT['']}</p>\n", "")


def test_a_terminal_that_cannot_show_the_text(
    serve: Callable[..., FixtureServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    server = serve("menu", routes_of(pages_of({"": "Äpfel, 苹果"})))
    done = run_scrapy("template", f"{server.url}/", folder=tmp_path)
    assert (done.code, done.stdout, done.log) == (0, "?pfel, ??\n", "")


def test_a_reader_that_stops_early(serve: Callable[..., FixtureServer]) -> None:
    words = " ".join(f"word{number}" for number in range(50_000))
    server = serve("menu", routes_of(pages_of({"": words})))
    options = [f"-s{name}={value}" for name, value in SETTINGS.items()]
    process = subprocess.Popen(
        [sys.executable, "-m", "scrapy", "template", f"{server.url}/", *options],
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


def test_no_template(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    server = serve("menu")
    done = run_scrapy("template", f"{server.url}/missing", folder=tmp_path)
    assert (done.code, done.stdout) == (1, "")
    # The log may have a warning of its own, before.
    words = f"No template for {server.url}/missing: the page cannot be used (http-404)"
    assert words in done.log.splitlines()[-1]
    assert "Traceback" not in done.log


@pytest.mark.parametrize("key", [b"<a href=/missing>x</a><p>Alone</p>", b"x<p>Alone</p>"])
def test_a_page_by_itself(serve: Callable[..., FixtureServer], tmp_path: Path, key: bytes) -> None:
    """There is always an answer, and a line that tells what it is worth."""
    server = serve("menu", routes_of({"": key}))
    done = run_scrapy("template", f"{server.url}/", folder=tmp_path)
    assert (done.code, done.stdout.split()) == (0, ["x", "Alone"])
    assert done.log.splitlines()[-1] == (
        f"{server.url}/: no other page gave evidence of the template,"
        " so nothing is known to be template"
    )


def test_a_page_without_evidence(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    key = b"<a href=/x>x</a><p>Alone</p>"
    server = serve("menu", routes_of({"": key, "x": b"<p>no way back</p>"}))
    done = run_scrapy("template", f"{server.url}/", folder=tmp_path)
    assert (done.code, done.stdout.split()) == (0, ["x", "Alone"])
    assert "evidence of the template" in done.log


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("ftp://127.0.0.1/",), "ftp: is neither http nor https"),
        pytest.param(
            ("URL", "-n", "0"), "n='0': expected a whole number, 1 or more", marks=pytest.mark.quick
        ),
        (("URL", "-a", "nn=3"), "unknown argument 'nn'"),
        (("URL", "-a", "save_html=/proc/nowhere"), "cannot write to this folder"),
        (("URL", "-a", "nothing"), "Invalid -a value"),
        ((), "error: give the address of a page"),
        (("URL", "-i", "list.txt"), "and not both"),
        (("-i", "missing.txt"), "-i 'missing.txt': No such file"),
        (("FOLDER/x.warc.gz",), "is a WARC file: scrapy strip, or scrapy archive, reads it"),
    ],
)
def test_wrong_arguments(
    serve: Callable[..., FixtureServer], tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    server = serve("menu")
    (tmp_path / "x.warc.gz").touch()
    named = {"URL": server.url, "FOLDER": str(tmp_path)}
    given = (re.sub("URL|FOLDER", lambda found: named[found[0]], each) for each in arguments)
    done = run_scrapy("template", *given, folder=tmp_path)
    assert done.code == 2
    assert len([line for line in (done.stdout + done.log).splitlines() if words in line]) == 1
    assert "Traceback" not in done.log
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
    done = run_scrapy("template", *addresses, "ftp://x", f"-O{feed}", folder=tmp_path)
    assert done.code == 1
    rows = rows_of(done.stdout)
    assert {name: row["main_text"] for name, row in rows.items()} == {
        name: CONTENT[name] for name in "ab"
    }
    assert len(done.stdout.splitlines()) == 2
    assert set(rows["a"]) == {"requested_url", "title", "main_text"}
    told = [line for line in done.log.splitlines() if line.startswith("No template for ")]
    assert sorted(told) == [
        "No template for ftp://x: url 'ftp://x': ftp: is neither http nor https",
        f"No template for {server.url}/missing: the page cannot be used (http-404)",
    ]
    kept = [json.loads(line) for line in feed.read_text("utf-8").splitlines()]
    assert {row["main_text"] for row in kept} == {CONTENT["a"], CONTENT["b"]}


def test_a_list_of_pages(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    pages = tmp_path / "pages.txt"
    pages.write_text(f"{server.url}/a\n# not this\n{server.url}/b\n")
    done = run_scrapy("template", "-i", str(pages), "--all", "--html", folder=tmp_path)
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
        [sys.executable, "-m", "scrapy", "template", *addresses, *options],
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

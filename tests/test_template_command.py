"""``scrapy template`` as a person at a terminal meets it."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import PROJECT, SETTINGS, FixtureServer, run_scrapy
from tests.support.template_site import CONTENT, pages_of, routes_of

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
        ((), "error: give the address of one page"),
        (("URL", "URL"), "error: give the address of one page"),
    ],
)
def test_wrong_arguments(
    serve: Callable[..., FixtureServer], tmp_path: Path, arguments: tuple[str, ...], words: str
) -> None:
    server = serve("menu")
    given = (argument.replace("URL", server.url) for argument in arguments)
    done = run_scrapy("template", *given, folder=tmp_path)
    assert done.code == 2
    assert len([line for line in (done.stdout + done.log).splitlines() if words in line]) == 1
    assert "Traceback" not in done.log
    assert server.log == []

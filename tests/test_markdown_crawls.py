"""Markdown by real crawls, and what is said where nothing can make it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import SETTINGS, Crawl, FixtureServer, run_scrapy
from tests.support.template_site import CONTENT, pages_of, routes_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

MORE = """<h2>More of it</h2><div class="highlight-python"><pre>a = [1]\n\nb  = a</pre></div>
<p>Words with a <a href="c?d=e">link</a> of their own, number {}.</p>"""
NEEDS = "html-to-markdown"


def site() -> dict[str, bytes]:
    """The usual site, with more in the key page, whose addresses are relative to a folder."""
    return {
        **pages_of(),
        "": pages_of(more=MORE)[""].replace(b"<title>", b"<base href=/deep/><title>"),
    }


def markdown_of(server: FixtureServer) -> str:
    link = f"[link]({server.url}/deep/c?d=e)"
    code = "```python\na = [1]\n\nb  = a\n```"
    words = f"Words with a {link} of their own, number {{}}."
    return "\n\n".join((CONTENT[""], "## More of it", code, words))


@pytest.fixture
def no_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that does not find html-to-markdown, in processes of its own."""
    folder = tmp_path / "blocked"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'html_to_markdown':\n"
        "            raise ModuleNotFoundError(name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(folder))


def test_the_command(
    serve: Callable[..., FixtureServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(SETTINGS, "LOG_LEVEL")
    server = serve("menu", routes_of(site()))
    for options in (("--markdown",), ("--all", "--markdown")):
        done = run_scrapy("text", *options, f"{server.url}/", folder=tmp_path)
        assert (done.code, done.log) == (0, "")
        assert done.stdout == markdown_of(server) + "\n"
    done = run_scrapy(
        *("text", "--all", "--markdown", f"{server.url}/", f"{server.url}/a"), folder=tmp_path
    )
    assert (done.code, done.log) == (0, "")
    rows = {row["requested_url"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert [*next(iter(rows.values()))] == ["requested_url", "title", "content_markdown"]
    assert rows[f"{server.url}/"]["content_markdown"] == markdown_of(server)
    assert rows[f"{server.url}/a"]["content_markdown"] == CONTENT["a"]


def test_the_feed(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    server = serve("menu", routes_of(site()))
    file = tmp_path / "texts.json"
    done = crawl(server.url + "/", texts=file)
    (plain,) = json.loads(file.read_bytes())
    assert (done.code, plain["main_markdown"], plain["content_markdown"]) == (0, "", "")
    done = crawl(server.url + "/", texts=file, settings={"TPLSPIDER_MARKDOWN": "1"})
    (item,) = json.loads(file.read_bytes())
    assert done.code == 0
    assert [*item][-3:] == ["main_markdown", "content_markdown", "method"]
    assert item["main_markdown"] == item["content_markdown"] == markdown_of(server)
    unlike = [name for name in plain if plain[name] != item[name]]
    assert unlike == ["main_markdown", "content_markdown"]


@pytest.mark.usefixtures("no_package")
def test_a_command_without_the_package(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    done = run_scrapy("text", "--markdown", f"{server.url}/", folder=tmp_path)
    assert done.code == 2
    (line,) = [line for line in done.log.splitlines() if NEEDS in line]
    assert line.startswith("scrapy text: error: ")
    assert (server.log, "Traceback" in done.log, done.stdout) == ([], False, "")
    done = run_scrapy("text", f"{server.url}/", folder=tmp_path)
    assert (done.code, done.stdout) == (0, CONTENT[""] + "\n")


@pytest.mark.usefixtures("no_package")
def test_a_crawl_without_the_package(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    server = serve("menu", routes_of(pages_of()))
    file = tmp_path / "texts.json"
    done = crawl(server.url + "/", texts=file, settings={"TPLSPIDER_MARKDOWN": "true"})
    assert done.code == 2
    assert len([line for line in done.log.splitlines() if NEEDS in line]) == 1
    assert (server.log, "Traceback" in done.log, file.exists()) == ([], False, False)

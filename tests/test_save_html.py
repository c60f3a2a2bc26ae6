"""Pages as files: what the server sent, byte for byte, and a manifest of it."""

from __future__ import annotations

import gzip
import json
from typing import TYPE_CHECKING, Any

import pytest
from browser_profile import KEY as SCRIPT_KEY
from browser_profile import PROFILE, needs_chromium
from conftest import Crawl, FixtureServer, run_scrapy
from template_site import pages_of, routes_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def manifest_of(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / "manifest.json").read_bytes())
    return rows


def test_the_bytes_that_the_server_sent(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    pages = pages_of()
    pages["b"] = b"\xef\xbb\xbf" + pages["b"]
    pages["c"] = pages_of(encoding="windows-1251", menu="\u041c")["c"]
    routes = routes_of(pages)
    # A link of the menu that redirects to a page which is a link as well, and one that is packed.
    routes["/a"] = lambda request: request.answer(302, Location="/b")
    packed = gzip.compress(pages["c"])
    routes["/c"] = lambda request: request.answer(
        200, packed, Content_Type="text/html", Content_Encoding="gzip"
    )
    folder = tmp_path / "new" / "html"
    for in_flight in ("1", "4"):
        server = serve("menu", routes)
        done = crawl(server.url + "/", {"TPLSPIDER_IN_FLIGHT": in_flight}, n=2, save_html=folder)
        assert done.code == 0
        assert "Traceback" not in done.log
        assert manifest_of(folder) == [
            {"role": "key", "url": f"{server.url}/", "encoding": "utf-8", "file": "key.html"},
            {
                "role": "member",
                "url": f"{server.url}/b",
                "link": f"{server.url}/a",
                "encoding": "utf-8",
                "file": "1.html",
            },
            {
                "role": "member",
                "url": f"{server.url}/c",
                "link": f"{server.url}/c",
                "encoding": "cp1251",
                "file": "2.html",
            },
        ]
        assert sorted(path.name for path in folder.iterdir()) == [
            *("1.html", "2.html", "key.html", "manifest.json"),
        ]
        for name, page in (("key", ""), ("1", "b"), ("2", "c")):
            assert (folder / f"{name}.html").read_bytes() == pages[page]
        assert "tplspider/template_share" not in done.stats


@pytest.mark.quick
def test_nothing_came(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    done = crawl(serve("menu").url + "/missing.html", save_html=tmp_path)
    assert done.code == 0
    assert manifest_of(tmp_path) == []
    assert done.summary["key_outcome"] == "http-404"


def test_a_file_that_cannot_be_written_after_all(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    (tmp_path / "html" / "1.html").mkdir(parents=True)
    (tmp_path / "html" / "manifest.json").write_text("of another crawl")
    done = crawl(
        serve("menu", routes_of(pages_of())).url + "/",
        save_html=tmp_path / "html",
        template=tmp_path / "t.json",
    )
    assert done.code == 0
    assert "The pages cannot be saved" in done.log
    assert "Traceback" not in done.log
    assert not (tmp_path / "html" / "manifest.json").exists()
    assert len(json.loads((tmp_path / "t.json").read_bytes())) == 1
    assert done.summary["complete"]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("save_html=FOLDER/file", "save_html='FOLDER/file': cannot write to this folder"),
        ("save_html=FOLDER/file/sub", "cannot write to this folder (Not a directory)"),
        ("save_html=/proc/nowhere", "save_html='/proc/nowhere': cannot write to this folder"),
        ("save_html=FOLDER/html", "a feed is written to manifest.json there"),
        ("template=FOLDER/out.json", "template='FOLDER/out.json' is the file of another feed"),
        ("template=FOLDER/x/../out.json", "is the file of another feed"),
        ("template=FOLDER/summary.json", "is the file of another feed"),
        ("template=FOLDER/t.html", "expected a file that ends in one of"),
    ],
)
def test_arguments_that_will_not_do(
    serve: Callable[..., FixtureServer], tmp_path: Path, argument: str, words: str
) -> None:
    (tmp_path / "file").write_text("")
    server, out = serve("menu"), tmp_path / "out.json"
    done = run_scrapy(
        "crawl",
        "template_candidates",
        f"-aurl={server.url}",
        f"-asummary={tmp_path / 'summary.json'}",
        f"-a{argument.replace('FOLDER', str(tmp_path))}",
        *(f"-O{out}", f"-O{tmp_path / 'html' / 'manifest.json'}"),
        folder=tmp_path,
    )
    assert done.code == 2
    words = words.replace("FOLDER", str(tmp_path))
    logged, printed = [line for line in done.log.splitlines() if words in line]
    assert "ERROR" in logged
    assert ": error: " in printed
    assert "Traceback" not in done.log
    assert server.log == []
    assert not out.exists()


@needs_chromium
def test_pages_as_the_browser_made_them(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    server = serve("script-menu")
    done = crawl(
        server.url + SCRIPT_KEY, PROFILE, save_html=tmp_path / "html", template=tmp_path / "t.json"
    )
    assert done.summary["complete"], done.log
    rows = manifest_of(tmp_path / "html")
    assert [row["url"] for row in rows] == [server.url + SCRIPT_KEY, *done.summary["members"]]
    found = server.find(SCRIPT_KEY)
    assert found
    came, saved = found.read_bytes(), (tmp_path / "html" / "key.html").read_bytes()
    assert saved.count(b"<a ") > came.count(b"<a ")
    (item,) = json.loads((tmp_path / "t.json").read_bytes())
    assert "<a " in item["template_html"]

"""Pages as files: what the server sent, byte for byte, and a manifest of it."""

import gzip
import json
from pathlib import Path
from typing import Any

from tests.support.browser_profile import KEY as SCRIPT_KEY
from tests.support.browser_profile import PROFILE, needs_chromium
from tests.support.crawls import RunCrawl, Serve, run_scrapy
from tests.support.template_site import pages_of, routes_of


def manifest_of(folder: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((folder / "manifest.json").read_bytes())
    return rows


def test_the_bytes_that_the_server_sent(crawl: RunCrawl, serve: Serve, tmp_path: Path) -> None:
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
    for in_flight in ("1", "4"):  # the second replaces the pages of the first
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
            *("1.html", "2.html", "key.html", "manifest.json")
        ]
        for name, page in (("key", ""), ("1", "b"), ("2", "c")):
            assert (folder / f"{name}.html").read_bytes() == pages[page]
        assert "tplspider/template_share" not in done.stats


def test_a_folder_of_others_is_refused(serve: Serve, tmp_path: Path) -> None:
    server, folder = serve("menu"), tmp_path / "html"
    folder.mkdir()
    (folder / "mine.txt").write_text("mine")
    given = (f"-aurl={server.url}", f"-asave_html={folder}")
    done = run_scrapy("crawl", "template_candidates", *given, folder=tmp_path)
    assert done.code == 2
    assert "mine.txt" in done.log
    assert server.log == []
    assert [path.name for path in folder.iterdir()] == ["mine.txt"]


@needs_chromium
def test_pages_as_the_browser_made_them(crawl: RunCrawl, serve: Serve, tmp_path: Path) -> None:
    server = serve("script-menu")
    done = crawl(
        server.url + SCRIPT_KEY, PROFILE, save_html=tmp_path / "html", texts=tmp_path / "t.json"
    )
    assert done.summary["complete"], done.log
    rows = manifest_of(tmp_path / "html")
    assert [row["url"] for row in rows] == [server.url + SCRIPT_KEY, *done.summary["candidates"]]
    found = server.find(SCRIPT_KEY)
    assert found
    came, saved = found.read_bytes(), (tmp_path / "html" / "key.html").read_bytes()
    assert saved.count(b"<a ") > came.count(b"<a ")
    (item,) = json.loads((tmp_path / "t.json").read_bytes())
    assert "<a " in item["template_html"]

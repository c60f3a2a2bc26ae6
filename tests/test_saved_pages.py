import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.browsers import KEY as SCRIPT_KEY
from tests.support.browsers import PROFILE, needs_chromium
from tests.support.crawls import RunCrawl, Serve
from tests.support.template_site import pages_of, routes_of
from tplspider.saved_pages import KeptPage, check_folder, save_pages


def kept_pages(run: str, members: int) -> list[KeptPage]:
    links = ["", *(f"http://x/{run}/{number}" for number in range(1, members + 1))]
    return [
        KeptPage(f"http://y/{link}", link, "utf-8", f"{run} {link}".encode(), role)
        for link, role in zip(links, ["key", *["member"] * members], strict=True)
    ]


def saved_in(folder: Path) -> list[bytes] | None:
    if not (folder / "manifest.json").exists():
        return None
    rows = json.loads((folder / "manifest.json").read_bytes())
    return [(folder / row["file"]).read_bytes() for row in rows]


def test_pages_replace_those_of_the_last_run(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "html"
    for members in (3, 1, 0):
        check_folder(folder)
        pages = kept_pages("x", members)
        save_pages(folder, pages)
        names = sorted(path.name for path in folder.iterdir())
        assert names == [*(f"{n + 1}.html" for n in range(members)), "key.html", "manifest.json"]
        assert saved_in(folder) == [page.body for page in pages]
    (key,) = json.loads((folder / "manifest.json").read_bytes())
    assert key == {"role": "key", "url": "http://y/", "encoding": "utf-8", "file": "key.html"}
    save_pages(folder, kept_pages("x", 1)[1:])
    (row,) = json.loads((folder / "manifest.json").read_bytes())
    assert [*row] == ["role", "url", "link", "encoding", "file"]
    assert (row["link"], row["file"]) == ("http://x/x/1", "1.html")


def test_what_a_killed_run_has_left_is_ours(tmp_path: Path) -> None:
    """A manifest that lists more pages than there are, or is still empty."""
    save_pages(tmp_path, kept_pages("old", 3))
    (tmp_path / "2.html").unlink()
    check_folder(tmp_path)
    save_pages(tmp_path, kept_pages("new", 1))
    assert saved_in(tmp_path) == [page.body for page in kept_pages("new", 1)]
    assert len([*tmp_path.iterdir()]) == 3
    for name in ("key.html", "1.html"):
        (tmp_path / name).unlink()
    (tmp_path / "manifest.json").write_text("")
    save_pages(tmp_path, kept_pages("new", 1))
    assert saved_in(tmp_path) == [page.body for page in kept_pages("new", 1)]


@pytest.mark.parametrize("case", ["7.html", "link", "no manifest", "path"])
def test_what_is_not_ours_is_refused(tmp_path: Path, case: str) -> None:
    folder, victim = tmp_path / "html", tmp_path / "victim.html"
    victim.write_text("theirs")
    save_pages(folder, kept_pages("x", 0))
    match case:
        case "link":
            (folder / "key.html").unlink()
            (folder / "key.html").symlink_to(victim)
        case "no manifest":
            (folder / "manifest.json").unlink()
        case "path":
            row = {"role": "key", "file": "../victim.html"}
            (folder / "manifest.json").write_text(json.dumps([row]))
        case _:
            (folder / case).write_text("theirs")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ValueError, match=r"^save_html: there are other files [^\n]+$"):
        check_folder(folder)
    with pytest.raises(FileExistsError):
        save_pages(folder, kept_pages("y", 7))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert victim.read_text() == "theirs"


def test_a_folder_for_each_search(tmp_path: Path) -> None:
    save_pages(tmp_path / ("0" * 16), kept_pages("x", 1))
    check_folder(tmp_path, many=True)
    with pytest.raises(ValueError, match="other files"):
        check_folder(tmp_path)
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(ValueError, match="cannot write to this folder"):
            check_folder(folder)


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
    kind = {"Content_Type": "text/html", "Content_Encoding": "gzip"}
    routes["/c"] = lambda request: request.answer(200, packed, **kind)
    folder = tmp_path / "new" / "html"
    for in_flight in ("1", "4"):  # the second replaces the pages of the first
        server = serve("menu", routes)
        done = crawl(server.url + "/", {"TPLSPIDER_IN_FLIGHT": in_flight}, n=2, save_html=folder)
        assert done.code == 0
        assert "Traceback" not in done.log
        first, second = (
            {"url": f"{server.url}/{page}", "link": f"{server.url}/{link}"}
            for page, link in ("ba", "cc")
        )
        assert manifest_of(folder) == [
            {"role": "key", "url": f"{server.url}/", "encoding": "utf-8", "file": "key.html"},
            {**first, "role": "member", "encoding": "utf-8", "file": "1.html"},
            {**second, "role": "member", "encoding": "cp1251", "file": "2.html"},
        ]
        assert sorted(path.name for path in folder.iterdir()) == [
            *("1.html", "2.html", "key.html", "manifest.json")
        ]
        for name, page in (("key", ""), ("1", "b"), ("2", "c")):
            assert (folder / f"{name}.html").read_bytes() == pages[page]
        assert "tplspider/template_share" not in done.stats


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

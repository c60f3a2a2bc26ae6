"""Pages as files: what the server sent, byte for byte, and a manifest of it."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from tests.support.browser_profile import KEY as SCRIPT_KEY
from tests.support.browser_profile import PROFILE, needs_chromium
from tests.support.crawls import PROJECT, Crawl, FixtureServer, run_scrapy
from tests.support.template_site import pages_of, routes_of
from tplspider.old.crawl.outputs.save_html import save_html
from tplspider.old.crawl.preflight import check_crawl
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tplspider.demo.server import Handler


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
    done = crawl(serve("menu").url + "/missing.html", save_html=tmp_path / "html")
    assert done.code == 0
    assert manifest_of(tmp_path / "html") == []
    assert done.summary["key_outcome"] == "http-404"


def test_no_page_of_the_last_run_is_left(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    server = serve("menu", routes_of(pages_of()))
    for n in (3, 1):
        done = crawl(server.url + "/", n=n, save_html=tmp_path / "html-%(scope)s")
        assert done.code == 0
        names = sorted(path.name for path in (tmp_path / "html-host").iterdir())
        assert names == [*(f"{i}.html" for i in range(1, n + 1)), "key.html", "manifest.json"]


@pytest.mark.slow
def test_a_kill_leaves_one_set_or_the_other(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.kill_save_html", tmp_path],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 50


def saved_before(folder: Path) -> None:
    """A set of pages, as it is found."""
    folder.mkdir()
    row = {"role": "key", "url": "http://x/", "encoding": "utf-8", "file": "key.html"}
    (folder / "manifest.json").write_text(json.dumps([row]))
    (folder / "key.html").write_text("saved before")


@pytest.mark.parametrize(
    ("case", "named"),
    [
        ("a file", "notes.txt"),
        ("a folder", "2.html"),
        ("a page that is not listed", "7.html"),
        ("a symbolic link", "key.html"),
        ("pages without a manifest", "key.html"),
        ("a manifest of somebody else", "manifest.json"),
        ("a manifest that lists a path", "manifest.json"),
        ("a manifest that is a pipe", "manifest.json"),
    ],
)
def test_what_is_not_ours_is_refused(tmp_path: Path, case: str, named: str) -> None:
    folder = tmp_path / "html"
    saved_before(folder)
    row = {"role": "key", "url": "http://x/", "encoding": "utf-8", "file": "../victim.html"}
    (tmp_path / "victim.html").write_text("not ours")
    match case:
        case "a file" | "a page that is not listed":
            (folder / named).write_text("not ours")
        case "a folder":
            (folder / named).mkdir()
        case "a symbolic link":
            (folder / named).unlink()
            (folder / named).symlink_to(tmp_path / "victim.html")
        case "pages without a manifest":
            (folder / "manifest.json").unlink()
        case "a manifest of somebody else":
            (folder / named).write_text('{"name": "an extension"}')
        case "a manifest that lists a path":
            (folder / named).write_text(json.dumps([row]))
        case "a manifest that is a pipe":
            (folder / named).unlink()
            os.mkfifo(folder / named)
    given = {"url": "http://127.0.0.1/", "save_html": str(folder)}
    with pytest.raises(ValueError, match="there are other files in this folder") as caught:
        check_crawl(TemplateCandidatesSpider, given, Settings())
    assert repr(named) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (tmp_path / "victim.html").read_text() == "not ours"


def test_what_comes_between_is_left_alone(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    folder, victim = tmp_path / "html", tmp_path / "victim.html"
    saved_before(folder)
    victim.write_text("not ours")
    pages = pages_of()

    def meddle(request: Handler) -> None:
        (folder / "key.html").unlink()
        (folder / "key.html").symlink_to(victim)
        request.answer(200, pages["a"], Content_Type="text/html")

    routes = {**routes_of(pages), "/a": meddle}
    done = crawl(serve("menu", routes).url + "/", save_html=folder, template=tmp_path / "t.json")
    (line,) = [line for line in done.log.splitlines() if "] ERROR: " in line]
    assert f"The pages cannot be saved in {folder}: File exists" in line
    assert done.code == 1
    assert "Traceback" not in done.log
    assert (folder / "key.html").is_symlink()
    assert victim.read_text() == "not ours"
    # The new set is there, by other names; and the other outputs are.
    saved = [(folder / row["file"]).read_bytes() for row in manifest_of(folder)]
    assert saved == [pages[name] for name in ("", "a", "b", "c")]
    assert len(json.loads((tmp_path / "t.json").read_bytes())) == 1
    assert done.summary["complete"]


def test_a_manifest_that_comes_between_is_left_alone(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    folder = tmp_path / "html"
    pages = pages_of()

    def meddle(request: Handler) -> None:
        folder.mkdir(exist_ok=True)
        (folder / "manifest.json").write_text("mine")
        request.answer(200, pages["a"], Content_Type="text/html")

    done = crawl(serve("menu", {**routes_of(pages), "/a": meddle}).url + "/", save_html=folder)
    (line,) = [line for line in done.log.splitlines() if "] ERROR: " in line]
    assert line.endswith(f"{folder}: the manifest.json in it is not ours")
    assert done.code == 1
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"manifest.json": "mine"}


def test_two_crawls_do_not_write_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "html"
    saved_before(folder)
    opened = os.open(folder, os.O_RDONLY)
    fcntl.flock(opened, fcntl.LOCK_EX)
    with pytest.raises(OSError, match="another crawl is writing there"):
        save_html(str(folder), [])
    os.close(opened)
    assert sorted(path.name for path in folder.iterdir()) == ["key.html", "manifest.json"]
    save_html(str(folder), [])
    assert [path.name for path in folder.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        ("save_html=FOLDER/file", "save_html='FOLDER/file': cannot write to this folder"),
        ("save_html=FOLDER/file/sub", "cannot write to this folder (Not a directory)"),
        ("save_html=/proc/nowhere", "save_html='/proc/nowhere': cannot write to this folder"),
        ("save_html=FOLDER/html", "manifest.json' would be in this folder as well"),
        ("save_html=FOLDER/out.json", "out.json' is a file of this name"),
        ("save_html=FOLDER/x%(foo)s", "unknown field %(foo)s"),
        ("save_html=s3://bucket/pages", "expected a local file or folder, not an address"),
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
    (line,) = done.log.splitlines()
    assert line.startswith("scrapy crawl: error: ")
    assert words in line
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

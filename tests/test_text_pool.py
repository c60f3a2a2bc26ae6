import json
from pathlib import Path

import pytest

from tests.support.crawls import SETTINGS, Crawl, Serve, run_scrapy
from tests.support.site_server import Handler
from tests.support.template_site import CONTENT, page, pages_of, routes_of
from tplspider.pools.pool import PooledPage, page_site
from tplspider.pools.store import KEPT, PoolFolder


@pytest.fixture(autouse=True)
def log_level_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(SETTINGS, "LOG_LEVEL")


def save_pool(folder: Path, url: str, *, count: int = 5) -> PoolFolder:
    """A pool of the site at an address, of pages that are not served any more."""
    pools = PoolFolder(folder)
    pages = []
    for number in range(count):
        body = page(f"Number {number} was crawled last week, with a word or two.")
        pages.append(PooledPage.of(f"{url}/gone{number}", body.decode()))
    pools.save(page_site(url), pages)
    return pools


def text(folder: Path, *arguments: str, **settings: str) -> Crawl:
    return run_scrapy("text", *arguments, folder=folder, settings=settings)


@pytest.mark.quick
def test_one_load(serve: Serve, tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    save_pool(tmp_path / "pools", server.url)
    out, summary = tmp_path / "page.json", tmp_path / "summary.json"
    arguments = (f"{server.url}/", "--pool", str(tmp_path / "pools"))
    done = text(tmp_path, *arguments, f"-O{out}", "-a", f"summary={summary}")
    assert (done.code, done.stdout, done.log) == (0, CONTENT[""] + "\n", "")
    assert server.pages_asked == ["/"]
    (row,) = json.loads(out.read_bytes())
    assert row["evidence"] == 3
    assert {url.rpartition("/")[2][:4] for url in row["candidates"]} == {"gone"}
    found = done.summary
    assert (found["reason"], found["loads"], found["key_outcome"]) == ("pool", 1, "ok")
    assert (found["candidates"], found["explored"], found["witnesses"]) == ([], [], [])
    assert found["search_id"] == row["search_id"]


@pytest.mark.quick
def test_without_a_pool_there_is_a_search(serve: Serve, tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    PoolFolder(tmp_path / "pools")
    done = text(tmp_path, f"{server.url}/", "--pool", str(tmp_path / "pools"))
    assert (done.code, done.stdout) == (0, CONTENT[""] + "\n")
    (line,) = done.log.splitlines()
    assert server.url in line
    assert {"/a", "/b", "/c"} <= {*server.pages_asked}


@pytest.mark.quick
def test_a_damaged_pool(serve: Serve, tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    folder = save_pool(tmp_path / "pools", server.url).directory
    for file in folder.iterdir():  # what SQLite has beside it, too
        file.unlink()
    (folder / KEPT).write_bytes(b"damaged" * 1000)
    done = text(tmp_path, f"{server.url}/", "--pool", str(folder))
    assert (done.code, done.stdout) == (0, CONTENT[""] + "\n")
    damaged, search = done.log.splitlines()
    assert "WARNING: " in damaged
    assert "WARNING: " in search
    assert "Traceback" not in done.log


@pytest.mark.quick
def test_each_page_by_the_pool_of_its_own_site(serve: Serve, tmp_path: Path) -> None:
    """After redirects; and what has none is searched, beside the others."""
    ours, others, without = (
        serve("menu", routes_of(pages_of(menu=menu))) for menu in ("Ours", "Others", "Without")
    )

    def redirect(request: Handler) -> None:
        request.answer(302, b"", Location=f"{others.url}/b")

    ours.routes["/moved"] = redirect
    pools = tmp_path / "pools"
    for server, menu in ((ours, "Ours"), (others, "Others")):
        rows = [page(f"Word {number} and others", menu=menu).decode() for number in range(5)]
        kept = [PooledPage.of(f"{server.url}/gone{n}", html) for n, html in enumerate(rows)]
        PoolFolder(pools).save(page_site(server.url), kept)
    pages = [f"{ours.url}/", f"{ours.url}/a", f"{ours.url}/moved", f"{without.url}/"]
    listed = tmp_path / "list.txt"
    listed.write_text("\n".join(pages))
    done = text(tmp_path, "-i", str(listed), "--pool", str(pools))
    rows_by_url = {row["url"]: row for row in map(json.loads, done.stdout.splitlines())}
    texts = {url: row["main_text"] for url, row in rows_by_url.items()}
    assert texts == dict(zip(pages, (CONTENT[name] for name in ("", "a", "b", "")), strict=True))
    assert sorted(ours.pages_asked) == ["/", "/a", "/moved"]
    assert others.pages_asked == ["/b"]
    assert len(without.pages_asked) > 2
    told = [line for line in done.log.splitlines() if "WARNING" in line]
    assert len(told) == 1
    assert without.url in told[0]
    assert done.code == 0

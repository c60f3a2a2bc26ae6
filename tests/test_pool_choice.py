from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from benchmarks.evaluation.choices import (
    POOLS,
    KeyPage,
    Request,
    breadth_first,
    by_pool,
    text_of_few_pages,
)
from tplspider.sources.base import load_page
from tplspider.sources.folder import FolderSite
from tplspider.web.page import WebPage

if TYPE_CHECKING:
    from pathlib import Path

MENU = "<nav><a href=/>Home</a> <a href=/a/1.html>A</a> <a href=/b/1.html>B</a></nav>"


def write(folder: Path, path: str, own: str, links: str = "") -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"<body>{MENU}<p>{own}</p>{links}<p>The foot of all pages.</p>")


@pytest.fixture
def site(tmp_path: Path) -> FolderSite:
    folder = tmp_path / "site"
    write(folder, "index.html", "The front page.")
    for directory in "ab":
        for number in range(1, 6):
            following = f"<a href=/{directory}/{number + 1}.html>Next</a>"
            own = f"Page {number} in {directory} says this, and nothing else says it."
            write(folder, f"{directory}/{number}.html", own, following)
    write(folder, "orphan.html", "No link leads here.")
    return FolderSite(folder)


def paths(site: FolderSite, urls: list[str]) -> list[str]:
    return [url.removeprefix(f"{site.url}/") for url in urls]


def key_page(site: FolderSite, path: str) -> WebPage:
    page = load_page(site, f"{site.url}/{path}")
    assert isinstance(page, WebPage)
    return page


def test_breadth_first(site: FolderSite) -> None:
    assert paths(site, [page.pooled.url for page in breadth_first(site)]) == [
        "",
        *(f"{directory}/{number}.html" for number in range(1, 6) for directory in "ab"),
        "orphan.html",
    ]


def test_a_page_waits_until_the_pool_is_ready(site: FolderSite) -> None:
    request = Request(site, key_page(site, "a/1.html"), 3, 100)
    after = POOLS["pool-after"](request)
    assert POOLS["pool"](request) == after  # there are fewer pages than a pool takes
    assert len(after.pages) == 11
    assert all(path.startswith("a/") for path in paths(site, list(after.pages[:3])))
    assert (after.loads, after.most) == (1, 3)


def test_in_the_course_of_a_crawl(site: FolderSite) -> None:
    request = Request(site, key_page(site, "a/1.html"), 3, 100)
    early = by_pool(request, ready=4)
    assert sorted(paths(site, list(early.pages))) == ["", "a/2.html", "b/1.html"]
    # Where the pool was ready before, the page need not wait.
    late = by_pool(Request(site, key_page(site, "b/4.html"), 3, 100), ready=4)
    assert len(late.pages) == 8


def test_no_page_at_the_key_pages_address(site: FolderSite) -> None:
    page = WebPage(f"{site.url}/elsewhere.html", b"<p>x")
    with pytest.raises(ValueError, match=r"no page of the site is at http://site/elsewhere\.html"):
        POOLS["pool"](Request(site, page, 3, 100))


def test_counted_lines(site: FolderSite) -> None:
    key = KeyPage(site, key_page(site, "a/3.html"))
    assert text_of_few_pages(key) == "Page 3 in a says this, and nothing else says it."

"""The pictures of ``scrapy ui`` in the docs: ``python -m tests.support.ui_pictures``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from tests.support.crawls import PROJECT
from tests.support.opened_pages import Opened, chromium, watched
from tests.support.report_pictures import HOST, PICTURES, SIZE, take_picture
from tests.support.ui_server import GatedSite, UiServer
from tplspider.demo.server import KEY_PAGE

if TYPE_CHECKING:
    from collections.abc import Iterator

# A page that the search needs, so that it can be seen while it goes.
_SLOW = "/blog/eighteen-months.html"
_SETTINGS = {"CONCURRENT_REQUESTS_PER_DOMAIN": "8"}
# The port is another one each time.
RENAME = """([host, name]) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode())
        walker.currentNode.data = walker.currentNode.data.replaceAll(host, name);
    for (const time of document.querySelectorAll("time")) time.textContent = "10:24";
}"""


def make_pictures(folder: Path) -> Iterator[Path]:
    """Take the pictures of the page, on the demo's website, and put them into *folder*."""
    with TemporaryDirectory() as name, GatedSite() as site:
        host = site.url.removeprefix("http://")
        with UiServer(Path(name) / "state", settings=_SETTINGS) as ui, chromium() as browser:
            context = browser.new_context(viewport=SIZE, color_scheme="light")
            with watched(context) as found:
                (run,) = ui.search(site.url + KEY_PAGE)
                ui.events(run)
                ui.events(*ui.search(site.url + "/visit/old.html"))
                site.slow = {_SLOW}
                (going,) = ui.search(site.url + "/blog/", n=5, strategy="paper")
                found.page.goto(ui.enter)
                found.page.locator("#running li", has_text="2 of 5 found").wait_for()
                found.page.get_by_label("Address of a page").fill(f"https://{HOST}/visit/")
                yield _take(found, host, folder / "ui.png", "header", "#downloads")
                found.page.goto(f"{ui.url}/searches/{run}")
                found.page.locator("#text", has_text="Nobody").wait_for()
                yield _take(found, host, folder / "ui-search.png", "nav", "#tries")
                site.gate.set()
                ui.events(going)
            context.close()


def _take(found: Opened, host: str, path: Path, first: str, last: str) -> Path:
    found.page.evaluate(RENAME, [host, HOST])
    found.page.set_viewport_size(SIZE | {"height": 1300})
    found.page.evaluate(RENAME, [host, HOST])
    return take_picture(found, path, first, last, 1300)


if __name__ == "__main__":
    for path in make_pictures(PICTURES):
        print(f"{path.relative_to(PROJECT)}: {path.stat().st_size} bytes")

"""The pictures of the docs, made from the demo: ``python -m docs.pictures``."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from PIL import Image

from tests.support.browsers import (
    SCREEN,
    Opened,
    chromium,
    chromium_with,
    opened,
    popup_of,
    watched,
    written_extension,
)
from tests.support.crawls import PROJECT
from tests.support.summaries import demo_search
from tests.support.ui_server import GatedSite, UiServer
from tplspider.demo import KEY_PAGE
from tplspider.report.writer import write_report

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect

PICTURES = PROJECT / "docs" / "pictures"
HOST = "museum.example"  # the demo's port is another one each time, and so is the search
_SEARCH = {"search_id": "c0ffee0123456789"}
_RENAME = """([host, name]) => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode())
        walker.currentNode.data = walker.currentNode.data.replaceAll(host, name);
    for (const time of document.querySelectorAll("time")) time.textContent = "10:24";
}"""


def report_pictures(name: Path) -> Iterator[Path]:
    """The demo's report."""
    with chromium() as browser:
        found = demo_search(name)
        host = urlsplit(found[0]["key_url"]).netloc
        summary, template = json.loads(json.dumps(found).replace(host, HOST))
        report = name / "report.html"
        write_report(report, summary | _SEARCH, template | _SEARCH)
        with opened(browser, report, viewport=SCREEN, color_scheme="light") as page:
            yield _take(page, "report.png", "header", ".facts", 1300)
            yield _take(page, "links.png", "#topology-heading", "#links", 1500)
            yield _take(page, "page.png", "h2:has(+ iframe)", ".screen iframe", 1000)


def page_pictures(name: Path) -> Iterator[Path]:
    """The page of scrapy ui: with a search in progress, and one that is over."""
    settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": "8"}
    with GatedSite() as site, UiServer(name / "state", settings=settings) as ui:
        names = [site.url.removeprefix("http://"), HOST]
        with chromium() as browser:
            context = browser.new_context(viewport=SCREEN, color_scheme="light")  # type: ignore[arg-type]
            with watched(context) as found:
                (run,) = ui.search(site.url + KEY_PAGE)
                ui.events(run)
                ui.events(*ui.search(site.url + "/visit/old.html"))
                site.slow = {"/blog/eighteen-months.html"}
                ui.search(site.url + "/blog/", n=5, strategy="paper")
                found.page.goto(ui.enter)
                found.page.locator("#running li", has_text="2 of 5 found").wait_for()
                found.page.get_by_label("Address of a page").fill(f"https://{HOST}/visit/")
                found.page.evaluate(_RENAME, names)
                yield _take(found, "ui.png", "header", "#downloads", 1300)
                found.page.goto(f"{ui.url}/searches/{run}")
                found.page.locator("#text", has_text="Nobody").wait_for()
                found.page.evaluate(_RENAME, names)
                yield _take(found, "ui-search.png", "nav", "#tries", 1300)
                site.gate.set()


def popup_picture(name: Path) -> Iterator[Path]:
    """The popup of the extension while a search goes and when it is over, side by side."""
    margin, shots = 16, []
    with GatedSite() as site, UiServer(name / "popup") as ui:
        (name / "extension").mkdir()
        extension = written_extension(ui, name / "extension")
        options = {"viewport": {"width": 384, "height": 600}, "color_scheme": "light"}
        with (
            chromium_with(extension, device_scale_factor=2, **options) as context,
            popup_of(context, extension) as popup,
        ):
            site.slow = {"/collection/tandem"}  # the last page that the search needs
            popup.open(site.url + KEY_PAGE)
            popup.connect(ui)
            popup.page.get_by_label("Order of links").select_option("paper")
            popup.page.locator("#start").click()
            for element, words in (("headline", "2 of 3 pages"), ("text", "Nobody")):
                popup.wait_for(element, words)
                popup.page.evaluate(_RENAME, [site.url, f"https://{HOST}"])
                shots.append(Image.open(io.BytesIO(popup.page.locator("body").screenshot())))
                site.gate.set()
    width = sum(shot.width for shot in shots) + 3 * margin
    picture = Image.new("RGB", (width, max(shot.height for shot in shots) + 2 * margin), "#d0d5db")
    for place, shot in enumerate(shots):
        picture.paste(shot.convert("RGB"), (margin + place * (shot.width + margin), margin))
    yield _save(picture, "popup.png")


def _take(found: Opened, name: str, first: str, last: str, height: int) -> Path:
    """A picture from the last element of one kind to that of another."""
    page, size = found.page, SCREEN | {"height": height}
    page.set_viewport_size(size)  # type: ignore[arg-type]  # it has both
    page.locator(first).last.evaluate("(e) => { e.scrollIntoView(); scrollBy(0, -20); }")
    page.wait_for_timeout(300)  # until frames are painted, too
    top, end = (page.locator(each).last.bounding_box() for each in (first, last))
    assert top
    assert end
    y = max(0, top["y"] - 10)
    clip: FloatRect = {"x": 0, "y": y, "width": SCREEN["width"], "height": 20}
    clip["height"] += end["y"] + end["height"] - y
    return _save(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB"), name)


def _save(image: Image.Image, name: str) -> Path:
    """Save a picture in few colours."""
    image.quantize(128, Image.Quantize.MAXCOVERAGE).save(PICTURES / name, optimize=True)
    return PICTURES / name


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        for make in (report_pictures, page_pictures, popup_picture):
            for path in make(Path(folder)):
                print(f"{path.relative_to(PROJECT)}: {path.stat().st_size} bytes")

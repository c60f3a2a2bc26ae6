"""The pictures of the docs, made from the demo: ``python -m tests.support.report_pictures``."""

from __future__ import annotations

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from PIL import Image

from tests.support.crawls import PROJECT
from tests.support.opened_pages import Opened, chromium, opened
from tests.support.report_pages import demo_search
from tplspider.report.files import write_report

if TYPE_CHECKING:
    from playwright.sync_api import FloatRect, ViewportSize

PICTURES = PROJECT / "docs" / "pictures"
MOST = 150_000  # bytes of one
HOST = "museum.example"  # the demo's port is another one each time, and so is the search
_SEARCH = {"search_id": "c0ffee0123456789"}
_COLOURS = 128
SIZE: ViewportSize = {"width": 1200, "height": 800}


def make_pictures(folder: Path) -> list[Path]:
    """Take the pictures of the demo's report, and put them into *folder*."""
    with TemporaryDirectory() as name, chromium() as browser:
        found = demo_search(Path(name))
        host = urlsplit(found[0]["key_url"]).netloc
        summary, template = json.loads(json.dumps(found).replace(host, HOST))
        report = Path(name) / "report.html"
        write_report(report, summary | _SEARCH, template | _SEARCH)
        with opened(browser, report, viewport=SIZE, color_scheme="light") as page:
            return [
                take_picture(page, folder / "report.png", "header", ".facts", 1300),
                take_picture(page, folder / "links.png", "#topology-heading", "#links", 1500),
                take_picture(page, folder / "page.png", "h2:has(+ iframe)", ".screen iframe", 1000),
            ]


def take_picture(page: Opened, path: Path, first: str, last: str, height: int) -> Path:
    """A picture from the last element of one kind to that of another, in few colours."""
    page.page.set_viewport_size(SIZE | {"height": height})
    page.page.locator(first).last.evaluate("(e) => { e.scrollIntoView(); scrollBy(0, -20); }")
    page.page.wait_for_timeout(300)  # until frames are painted, too
    top = page.page.locator(first).last.bounding_box()
    end = page.page.locator(last).last.bounding_box()
    assert top
    assert end
    y = max(0, top["y"] - 10)
    clip: FloatRect = {"x": 0, "y": y, "width": SIZE["width"], "height": 20}
    clip["height"] += end["y"] + end["height"] - y
    image = Image.open(io.BytesIO(page.page.screenshot(clip=clip)))
    few = image.convert("RGB").quantize(_COLOURS, Image.Quantize.MAXCOVERAGE)
    path.parent.mkdir(parents=True, exist_ok=True)
    few.save(path, optimize=True)
    return path


if __name__ == "__main__":
    for path in make_pictures(PICTURES):
        print(f"{path.relative_to(PROJECT)}: {path.stat().st_size} bytes")

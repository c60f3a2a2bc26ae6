"""The picture of the extension in the docs: ``python -m tests.support.popup_picture``."""

from __future__ import annotations

import io
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from PIL import Image

from tests.support.crawls import PROJECT
from tests.support.loaded_extension import chromium_with, popup_of, written_extension
from tests.support.report_pictures import HOST, PICTURES
from tests.support.ui_pictures import RENAME
from tests.support.ui_server import GatedSite, UiServer
from tplspider.demo.server import KEY_PAGE

if TYPE_CHECKING:
    from tests.support.loaded_extension import Popup

# Of the last page that the search needs, so that it can be seen while it goes.
_SLOW = "/collection/tandem"
_MARGIN = 16
_COLOURS = 128
_EDGE = "#d0d5db"


def make_picture(path: Path) -> Path:
    """The popup while a search goes and when it is over, side by side."""
    with TemporaryDirectory() as name, GatedSite() as site, UiServer(Path(name) / "state") as ui:
        (Path(name) / "extension").mkdir()
        extension = written_extension(ui, Path(name) / "extension")
        options = {"viewport": {"width": 384, "height": 600}, "color_scheme": "light"}
        with (
            chromium_with(extension, device_scale_factor=2, **options) as context,
            popup_of(context, extension) as popup,
        ):
            site.slow = {_SLOW}
            popup.open(site.url + KEY_PAGE)
            popup.connect(ui)
            popup.page.get_by_label("Order of links").select_option("paper")
            popup.page.locator("#start").click()
            popup.wait_for("headline", "2 of 3 pages")
            shots = [_shot(popup, site.url)]
            site.gate.set()
            popup.wait_for("text", "Nobody")
            shots.append(_shot(popup, site.url))
    width = sum(shot.width for shot in shots) + 3 * _MARGIN
    height = max(shot.height for shot in shots) + 2 * _MARGIN
    picture = Image.new("RGB", (width, height), _EDGE)
    for place, shot in enumerate(shots):
        picture.paste(shot, (_MARGIN + place * (shot.width + _MARGIN), _MARGIN))
    picture.quantize(_COLOURS, Image.Quantize.MAXCOVERAGE).save(path, optimize=True)
    return path


def _shot(popup: Popup, site: str) -> Image.Image:
    popup.page.evaluate(RENAME, [site, f"https://{HOST}"])
    return Image.open(io.BytesIO(popup.page.locator("body").screenshot())).convert("RGB")


if __name__ == "__main__":
    made = make_picture(PICTURES / "popup.png")
    print(f"{made.relative_to(PROJECT)}: {made.stat().st_size} bytes")

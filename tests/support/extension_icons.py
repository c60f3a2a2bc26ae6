"""The icons of the extension, drawn from its SVG: ``python -m tests.support.extension_icons``.

Chromium takes no SVG for the icon of an extension.
"""

from __future__ import annotations

import io

from PIL import Image

from tests.support.crawls import PROJECT
from tests.support.opened_pages import chromium

FOLDER = PROJECT / "tplspider" / "ui" / "extension"
SIZES = (16, 32, 48, 128)


def draw_icons() -> None:
    """Draw each size anew."""
    drawing = (FOLDER / "icon.svg").read_text("utf-8")
    with chromium() as browser:
        for size in SIZES:
            page = browser.new_page(viewport={"width": size, "height": size})
            page.set_content(
                f"<style>body {{ margin: 0 }} svg {{ display: block }}</style>{drawing}"
            )
            image = Image.open(io.BytesIO(page.screenshot(omit_background=True)))
            few = image.quantize(64, Image.Quantize.FASTOCTREE)  # keeps what is transparent
            few.save(FOLDER / f"icon-{size}.png", optimize=True)


if __name__ == "__main__":
    draw_icons()

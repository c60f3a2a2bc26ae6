"""What the tests of the browser profile share: its settings, and pages for it."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from tplspider.profiles import profile_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.demo.server import Handler

CHROMIUM = profile_settings("browser")["PLAYWRIGHT_LAUNCH_OPTIONS"].get("executable_path")

needs_chromium = pytest.mark.skipif(
    CHROMIUM is None or find_spec("scrapy_playwright") is None,
    reason="no Chromium is installed" if CHROMIUM is None else "scrapy-playwright is not installed",
)
PROFILE = {"TPLSPIDER_PROFILE": "browser"}
KEY = "/guide/tomatoes.html"


def html(body: str | bytes, kind: str = "text/html") -> Callable[[Handler], None]:
    data = body.encode() if isinstance(body, str) else body
    return lambda request: request.answer(200, data, Content_Type=kind)

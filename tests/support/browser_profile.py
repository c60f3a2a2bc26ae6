"""What the tests of the browser profile share: its settings, and pages for it."""

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from tplspider.demo.server import Handler
from tplspider.profiles import profile_settings

CHROMIUM = profile_settings("browser")["PLAYWRIGHT_LAUNCH_OPTIONS"].get("executable_path")

_skip = pytest.mark.skipif(
    CHROMIUM is None or find_spec("playwright") is None,
    reason="no Chromium is installed" if CHROMIUM is None else "Playwright is not installed",
)
PROFILE = {"TPLSPIDER_PROFILE": "browser"}
KEY = "/guide/tomatoes.html"


def needs_chromium(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test of the kind *browser*, which is left out where there is no Chromium."""
    marked: Callable[..., None] = pytest.mark.browser(_skip(test))
    return marked


def html(body: str | bytes, kind: str = "text/html") -> Callable[[Handler], None]:
    data = body.encode() if isinstance(body, str) else body
    return lambda request: request.answer(200, data, Content_Type=kind)

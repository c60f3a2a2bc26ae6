"""The browser profile: pages are read after their scripts have run, in an installed Chromium."""

import os
import shutil

from tplspider.profiles.default import *  # noqa: F403 - what it builds on

# After Scrapy has decompressed a page and followed redirects: the middlewares from 550 up.
DOWNLOADER_MIDDLEWARES = {"tplspider.browser.BrowserMiddleware": 540}

PLAYWRIGHT_BROWSER_TYPE = "chromium"
PLAYWRIGHT_LAUNCH_OPTIONS = {
    # Chromium's sandbox refuses to work for root.
    "chromium_sandbox": not hasattr(os, "geteuid") or os.geteuid() != 0,
    "args": [
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-quic",
        "--disable-sync",
        "--no-first-run",
    ],
}
for _name in ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"):
    if _path := shutil.which(_name):
        PLAYWRIGHT_LAUNCH_OPTIONS["executable_path"] = _path
        break  # where there is none, Playwright looks for one of its own

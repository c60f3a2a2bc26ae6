"""The extension in Chromium: a search from the popup, seen as it goes, and its report."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser_profile import CHROMIUM, html, needs_chromium
from tests.support.crawls import PROJECT, FixtureServer
from tests.support.loaded_extension import (
    PATIENCE,
    Popup,
    chromium_with,
    popup_of,
    written_extension,
)
from tests.support.report_pages import PATHS, HostileSite
from tests.support.ui_server import GatedSite, UiServer
from tests.test_report_browser import PROVOKE, violations
from tplspider.demo.server import KEY_PAGE, SiteServer
from tplspider.plugins.ui.extension_folder import bookmarklet

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from playwright.sync_api import BrowserContext

MEMBERS = ["/collection/", "/collection/safety.html", "/collection/tandems.html"]
SLOW = "/collection/tandem"  # the last page that a search needs
DEMO = PROJECT / "tplspider" / "demo" / "site"
SIZE = {"width": 400, "height": 600}  # as large as browsers make popups


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UiServer]:
    with UiServer(tmp_path_factory.mktemp("state")) as running:
        yield running


@pytest.fixture(scope="module")
def extension(ui: UiServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written_extension(ui, tmp_path_factory.mktemp("extension"))


@pytest.fixture(scope="module")
def context(extension: Path) -> Iterator[BrowserContext]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    with chromium_with(extension, viewport=SIZE) as found:
        yield found


@pytest.fixture
def popup(context: BrowserContext, extension: Path, ui: UiServer) -> Iterator[Popup]:
    """A popup with the right settings, on a page of the demo."""
    with popup_of(context, extension) as found, SiteServer() as site:
        found.open(site.url + KEY_PAGE)
        found.page.evaluate("chrome.storage.local.clear()")
        found.connect(ui)
        yield found


def search(popup: Popup) -> None:
    """Search in the paper's order, which is known."""
    popup.page.get_by_label("Order of links").select_option("paper")
    popup.page.get_by_role("button", name="Search").click()


@needs_chromium
def test_a_search_from_the_popup(popup: Popup, ui: UiServer, context: BrowserContext) -> None:
    page = popup.page
    asked = popup.found.asked
    site = popup.front.url.removesuffix(KEY_PAGE)
    assert page.locator("#address").inner_text() == popup.front.url
    page.get_by_label("Order of links").select_option("paper")
    page.get_by_label("Pages to find").press("Enter")
    headline = popup.wait_for("state", "share the template")
    assert headline.startswith("3 pages very likely")
    assert popup.links() == [site + path for path in MEMBERS]
    # The token went in a header alone, and to nobody else.
    hosts = (f"http://127.0.0.1:{ui.address[1]}/api/", popup.address.removesuffix("popup.html"))
    assert all(url.startswith(hosts) for url in asked)
    assert not any(ui.token in url for url in asked)
    # Opened again on this page it shows the same; on another page, nothing.
    popup.open(popup.front.url)
    popup.wait_for("state", headline)
    popup.open(site + "/blog/")
    assert page.locator("#start").is_enabled()
    assert not page.locator("#found").is_visible()
    assert page.get_by_label("Order of links").input_value() == "paper"  # as the last time
    popup.open(site + KEY_PAGE + "#history")
    popup.wait_for("state", headline)
    with context.expect_page() as event:
        page.get_by_role("button", name="Open report").click()
    report = event.value
    report.wait_for_load_state()
    assert report.url.endswith("/report")  # without the code
    assert "very likely share" in report.locator("body").inner_text()
    report.close()
    with context.expect_page() as event:
        page.get_by_role("button", name="All searches").click()
    event.value.get_by_role("heading", name="Last searches").wait_for()
    event.value.close()
    # A page of the CS opens in a tab, too.
    with context.expect_page() as event:
        page.locator("#members a").first.click()
    event.value.wait_for_load_state()
    assert event.value.url == site + MEMBERS[0]
    event.value.close()
    assert popup.found.told == []


@needs_chromium
def test_a_search_is_seen_as_it_goes_and_cancelled(popup: Popup) -> None:
    page = popup.page
    with GatedSite() as site:
        site.slow = {SLOW}
        popup.open(site.url + KEY_PAGE)
        search(popup)
        popup.wait_for("state", "Searching: 2 of 3 pages, 5 of 14 links tried")
        assert popup.links() == [site.url + path for path in MEMBERS[:2]]
        assert page.locator("#start").is_disabled()
        assert page.locator("#progress").is_visible()
        # Whoever closes the popup and opens it again sees it go on.
        popup.open(site.url + KEY_PAGE)
        popup.wait_for("state", "Searching: 2 of 3 pages, 5 of 14 links tried")
        assert violations(popup.found) == []
        page.get_by_role("button", name="Cancel").click()
        site.gate.set()
        popup.wait_for("note", "was cancelled")
        assert page.locator("#state").inner_text() == "2 pages instead of 3 were found"
        assert popup.links() == [site.url + path for path in MEMBERS[:2]]
        assert page.locator("#start").is_enabled()
        assert page.get_by_role("button", name="Open report").is_visible()
    assert popup.found.told == []


@needs_chromium
def test_nothing_of_a_hostile_site_runs(popup: Popup) -> None:
    with HostileSite() as site:
        popup.open(site.url + PATHS[0])
        popup.page.get_by_role("button", name="Search").click()
        popup.wait_for("members", "<script>")
        popup.page.locator("#cancel").wait_for(state="hidden", timeout=PATIENCE)
        assert all(link.startswith(site.url) for link in popup.links())
        popup.found.evaluate(PROVOKE.replace("#|", "#|chrome-extension:|"))
        popup.page.wait_for_timeout(100)  # for a script that comes late
        assert popup.found.evaluate("[typeof ran, document.scripts.length]") == ["undefined", 1]
        assert popup.found.evaluate("document.querySelectorAll('main img, iframe').length") == 0
        assert popup.found.evaluate("document.documentElement.scrollWidth") <= SIZE["width"]
        assert violations(popup.found) == []
        popup.front.goto("about:blank")
    assert (popup.found.told, popup.found.ran) == ([], [])


@needs_chromium
def test_what_is_wrong_is_one_line(popup: Popup, ui: UiServer) -> None:
    page = popup.page
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        popup.save(port, ui.token)
        popup.wait_for("trouble", f"scrapy ui does not answer on port {port}")
    popup.save(ui.address[1], "wrong")
    popup.wait_for("trouble", "The token is wrong")
    popup.open(popup.front.url)
    page.get_by_role("button", name="Search").click()
    popup.wait_for("trouble", "The token is wrong")
    assert page.locator("#settings").get_attribute("open") is not None
    with FixtureServer(DEMO, {"/api/searches": html("words")}) as other:
        popup.save(int(other.url.rpartition(":")[2]), ui.token)
        popup.wait_for("trouble", "Something else than scrapy ui answers")
    popup.save(ui.address[1], ui.token)
    page.locator("#trouble").wait_for(state="hidden")
    popup.wait_for("told", "Saved: scrapy ui answers")
    popup.open("about:blank")
    popup.wait_for("trouble", "This tab does not show a page of the web")
    assert page.locator("#start").is_disabled()


@needs_chromium
def test_a_search_that_fails(popup: Popup) -> None:
    page = popup.page
    site = popup.front.url.removesuffix(KEY_PAGE)
    popup.open(site + "/nothing.html")
    page.get_by_role("button", name="Search").click()
    popup.wait_for("state", "The key page cannot be used")
    popup.wait_for("note", "The search failed")


@needs_chromium
def test_a_server_that_is_killed(popup: Popup, tmp_path: Path) -> None:
    page = popup.page
    with GatedSite() as slow:
        slow.slow = {SLOW}
        with UiServer(tmp_path / "state") as ui:
            popup.open(slow.url + KEY_PAGE)
            popup.connect(ui)
            search(popup)
            popup.wait_for("state", "Searching: 2 of 3 pages")
            ui.process.kill()
            popup.wait_for("trouble", "scrapy ui does not answer")
            popup.wait_for("state", "How it went on is not known")
            assert page.locator("#start").is_enabled()
            slow.gate.set()
        with UiServer(tmp_path / "state"):
            popup.open(slow.url + KEY_PAGE)
            popup.wait_for("note", "the server was ended")
            assert page.locator("#start").is_enabled()


@needs_chromium
def test_the_bookmarklet(popup: Popup, ui: UiServer, context: BrowserContext) -> None:
    """It fills in the form of a browser that was let in, and starts nothing."""
    popup.front.goto(ui.ask("POST", "/api/codes", {"to": "/"}).json["address"])
    known = ui.ask("GET", "/api/searches").json["total"]
    with SiteServer() as site:
        popup.front.goto(f"{site.url}{KEY_PAGE}?a=1&b='\"<script>ran=1</script>#part")
        with context.expect_page() as event:
            popup.front.evaluate("(text) => { location.href = text; }", bookmarklet(ui.address[1]))
        form = event.value
        filled = expect(form.get_by_label("Address of a page"))
        filled.to_have_value(popup.front.url, timeout=PATIENCE)
        assert form.evaluate("[opener, typeof ran]") == [None, "undefined"]
        form.close()
    assert ui.ask("GET", "/api/searches").json["total"] == known


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(popup: Popup, scheme: str) -> None:
    page = popup.page
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    try:
        page.get_by_role("button", name="Search").click()
        popup.wait_for("state", "share the template")
        page.locator("summary").press("Enter")
        assert violations(popup.found) == []
        assert_keyboard_goes_everywhere(popup)
        popup.save(1, "wrong")
        popup.wait_for("trouble", "does not answer")
        assert violations(popup.found) == []
    finally:
        page.emulate_media(color_scheme=None)


def assert_keyboard_goes_everywhere(popup: Popup) -> None:
    stops: list[str] = []
    popup.page.locator("#n").focus()
    for _ in range(20):
        stops.append(
            popup.found.evaluate("document.activeElement.id || document.activeElement.localName")
        )
        popup.page.keyboard.press("Tab")
    first = stops[: stops.index("n", 1)] if "n" in stops[1:] else stops
    expected = [
        "n",
        "strategy",
        "start",
        "a",
        "a",
        "a",
        "report",
        "all",
        "summary",
        "token",
        "port",
        "save",
    ]
    assert [stop for stop in first if stop != "body"] == expected

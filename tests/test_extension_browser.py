from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Request, expect

from tests.support.browsers import (
    CHROMIUM,
    PROVOKE,
    Popup,
    chromium_with,
    needs_chromium,
    popup_of,
    violations,
    written_extension,
)
from tests.support.site_server import SiteServer
from tests.support.summaries import PATHS, HostileSite
from tests.support.ui_server import GatedSite, Thief, UiServer
from tplspider.demo import KEY_PAGE

MEMBERS = ["/collection/", "/collection/safety.html", "/collection/tandems.html"]
SLOW = "/collection/tandem"  # the last page that a search needs
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
    popup.page.locator("#start").click()


@needs_chromium
def test_a_search_from_the_popup(popup: Popup, ui: UiServer, context: BrowserContext) -> None:
    """By the keyboard, to the text, the report and the list. The token is not sent."""
    page, requests = popup.page, list[Request]()
    page.on("request", lambda request: requests.append(request))  # noqa: PLW0108 - not as C
    site = popup.front.url.removesuffix(KEY_PAGE)
    assert page.locator("#address").inner_text() == popup.front.url
    page.get_by_label("Order of links").select_option("paper")
    page.get_by_label("Pages to find").press("Enter")
    popup.wait_for("state", "complete")
    popup.wait_for("text", "Nobody who rode one")
    assert popup.links() == [site + path for path in MEMBERS]
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("#copy").press("Enter")
    popup.wait_for("told", "Copied")
    assert page.evaluate("navigator.clipboard.readText()").startswith("Penny-farthings\n")
    hosts = (f"http://127.0.0.1:{ui.address[1]}/api/", popup.address.removesuffix("popup.html"))
    assert all(url.startswith(hosts) for url in popup.found.asked)
    # Opened again on this page it shows the same; on another page, nothing.
    popup.open(site + "/blog/")
    expect(page.locator("#start")).to_be_enabled()
    expect(page.locator("#found")).to_be_hidden()
    expect(page.get_by_label("Order of links")).to_have_value("paper")  # as the last time
    popup.open(site + KEY_PAGE + "#history")
    popup.wait_for("state", "complete")
    for button, ending in (("details", "/searches/"), ("report", "/report"), ("all", "/")):
        with context.expect_page() as event:
            page.locator(f"#{button}").press("Enter")
        opened = event.value
        opened.wait_for_url(lambda url: "/enter" not in url and url != "about:blank")
        assert ending in opened.url
        assert "code=" not in opened.url
        opened.close()
    sent = [f"{request.url} {request.all_headers()}" for request in requests]
    assert any("Bearer" in each for each in sent)
    assert not any(ui.token in each for each in sent)
    assert popup.found.told == []


@needs_chromium
def test_a_search_is_seen_as_it_goes_and_cancelled(popup: Popup) -> None:
    page = popup.page
    with GatedSite() as site:
        site.slow = {SLOW}
        popup.open(site.url + KEY_PAGE)
        search(popup)
        popup.wait_for("headline", "2 of 3 pages, 5 of 14 links tried")
        assert popup.links() == [site.url + path for path in MEMBERS[:2]]
        expect(page.locator("#start")).to_be_disabled()
        expect(page.locator("#progress")).to_be_visible()
        # Whoever closes the popup and opens it again sees it go on.
        popup.open(site.url + KEY_PAGE)
        popup.wait_for("headline", "2 of 3 pages, 5 of 14 links tried")
        assert violations(popup.found) == []
        page.get_by_role("button", name="Cancel").click()
        site.gate.set()
        popup.wait_for("state", "partial")
        popup.wait_for("note", "was cancelled")
        assert popup.links() == [site.url + path for path in MEMBERS[:2]]
        expect(page.locator("#start")).to_be_enabled()
    assert popup.found.told == []


@needs_chromium
def test_nothing_of_a_hostile_site_runs(popup: Popup) -> None:
    with HostileSite() as site:
        popup.open(site.url + PATHS[0])
        popup.page.locator("#start").click()
        popup.wait_for("members", "<script>")
        popup.wait_for("text", "script")
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
@pytest.mark.parametrize("relays", [False, True])
def test_a_stranger_on_the_port_gets_nothing(popup: Popup, ui: UiServer, relays: bool) -> None:  # noqa: FBT001
    with Thief(ui if relays else None) as thief:
        popup.save(int(thief.url.rpartition(":")[2]), ui.token)
        popup.wait_for("trouble", "does not know this token")
        popup.page.locator("#start").click()
        popup.wait_for("trouble", "does not know this token")
    assert len(thief.got) >= 2
    for request in thief.got:
        assert request.startswith("/api/hello?nonce=")
        assert ui.token not in request
        assert "authorization" not in request.lower()
        assert "cookie" not in request.lower()
    popup.connect(ui)


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(popup: Popup, scheme: str) -> None:
    page = popup.page
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    try:
        page.locator("#start").click()
        popup.wait_for("state", "complete")
        popup.wait_for("text", "Penny")
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
    for _ in range(24):
        told = "document.activeElement.id || document.activeElement.localName"
        stops.append(popup.found.evaluate(told))
        popup.page.keyboard.press("Tab")
    first = stops[: stops.index("n", 1)] if "n" in stops[1:] else stops
    expected = "n strategy start copy text a a a details report all summary token port save".split()
    assert [stop for stop in first if stop != "body"] == expected

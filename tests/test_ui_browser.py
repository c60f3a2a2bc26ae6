import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.support.browsers import (
    PHONE,
    PROVOKE,
    SCREEN,
    Opened,
    needs_chromium,
    violations,
    watched,
)
from tests.support.summaries import MARKUP, PATHS, HostileSite
from tests.support.ui_server import GatedSite, UiServer
from tplspider.demo import KEY_PAGE

SLOW = "/collection/tandems.html"
PATIENCE = 60_000  # milliseconds
SETTINGS = {"CONCURRENT_REQUESTS_PER_DOMAIN": "8"}


@pytest.fixture(scope="module")
def ui(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UiServer]:
    with UiServer(tmp_path_factory.mktemp("ui") / "state", settings=SETTINGS) as server:
        yield server


@pytest.fixture
def site() -> Iterator[GatedSite]:
    with GatedSite() as server:
        yield server
        server.gate.set()


@contextmanager
def entered(browser: Browser, ui: UiServer, to: str = "/", **options: Any) -> Iterator[Opened]:
    context = browser.new_context(**options)
    try:
        with watched(context) as found:
            found.page.goto(ui.ask("POST", "/api/codes", {"to": to}).json["address"])
            yield found
        assert found.told == []
        assert found.ran == []
    finally:
        context.close()


def search(page: Page, addresses: str, n: int = 3) -> None:
    page.get_by_label("Address of a page").fill(addresses)
    page.get_by_label("Pages to find").fill(str(n))
    page.get_by_role("button", name="Search").click()


@needs_chromium
def test_from_the_form_to_the_text(browser: Browser, ui: UiServer, site: GatedSite) -> None:
    """By the keyboard alone; links settle while one looks, in two tabs."""
    site.slow = {SLOW}
    allowed = ["clipboard-read", "clipboard-write"]
    with entered(browser, ui, viewport=SCREEN, permissions=allowed) as found:
        page = found.page
        focus(page, "addresses")
        page.keyboard.type(site.url + KEY_PAGE)
        for _ in range(3):  # to the number, the order, the button
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        expect(page.locator("#members li[data-rank]")).to_have_count(2, timeout=PATIENCE)
        expect(page.locator("#tries tr.member")).to_have_count(2)
        expect(page.get_by_role("status")).to_have_text("2 pages of 3 found.")
        expect(page.get_by_role("progressbar")).to_have_attribute("value", "2")
        expect(page.locator("#state")).to_have_text("searching")
        expect(page.locator("#text-part")).to_be_hidden()
        other = page.context.new_page()
        other.goto(ui.url)
        other.get_by_text("2 of 3 found, 3 of 14 links tried").wait_for()
        site.gate.set()
        expect(page.locator("#state")).to_have_text("complete", timeout=PATIENCE)
        expect(page.locator("#members li")).to_have_count(3)
        # The text comes first: above the pages and the links.
        expect(page.locator("#text")).to_contain_text("Nobody who rode one")
        headings = page.get_by_role("heading", level=2).all_inner_texts()
        assert headings == ["Text", "Pages with the same template", "Links that were tried"]
        focus(page, "copy")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("Penny-farthings\n")
        focus(page, "markdown")
        page.keyboard.press("Space")
        expect(page.locator("#text")).to_contain_text("# Penny-farthings")
        for name, start in (("txt", "Penny"), ("md", "# Penny"), ("jl", '{"key_url"')):
            with page.expect_download() as download:
                focus(page, name)
                page.keyboard.press("Enter")
            assert download.value.path().read_text("utf-8").startswith(start)
        row = other.locator("#runs li").first
        expect(row.locator(".state")).to_have_text("complete", timeout=PATIENCE)
        assert re.search(r"[\d,]+ characters, [\d.]+ s", row.inner_text())
        other.close()
        found.ran.clear()
        # The report is a page of nobody, and has a way back.
        focus(page, "report")
        page.keyboard.press("Enter")
        page.locator("#topology .node").first.wait_for()
        assert page.evaluate("self.origin") == "null"
        asked = f"fetch('{ui.url}/api/searches').then(() => 'read', () => 'refused')"
        assert page.evaluate(asked) == "refused"
        found.told.clear()  # of that
        page.get_by_role("link", name="Back to the search").click()
        expect(page.locator("#state")).to_have_text("complete")


def focus(page: Page, element: str) -> None:
    """Press the Tab key until an element has the focus: it has to be reachable."""
    for _ in range(60):
        if page.evaluate("document.activeElement.id") == element:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{element} cannot be reached by the keyboard")


@needs_chromium
def test_many_searches_and_cancel(browser: Browser, ui: UiServer, site: GatedSite) -> None:
    """Each is cancelled by itself, and has what it found; wrong lines stay in the form."""
    site.slow = {SLOW, "/workshops/"}
    lines = f"{site.url}{KEY_PAGE}\n{site.url}/\njavascript:ran=1\n{site.url}/visit/\n"
    with entered(browser, ui, viewport=SCREEN) as found:
        page = found.page
        search(page, lines, n=4)
        page.get_by_text("http or https").wait_for()
        expect(page.get_by_label("Address of a page")).to_have_value("javascript:ran=1")
        page.get_by_text("2 searches in progress, 1 waiting").wait_for()
        row = page.locator("#running li", has_text=f"{site.url}/visit/")
        row.get_by_role("button", name="Cancel").click()
        page.locator("#runs li", has_text="stopped").first.wait_for()
        row = page.locator("#running li", has_text="Penny-farthings")
        row.get_by_text("2 of 4 found").wait_for()
        row.get_by_role("button", name="Cancel").click()
        page.locator("#runs li", has_text="partial").first.wait_for()
        page.get_by_text("1 search in progress").wait_for()
        page.locator("#running a").first.click()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_text("the search was cancelled").wait_for()
        site.gate.set()
        page.get_by_role("button", name="Search again").click()
        page.wait_for_url(re.compile(r"/searches/(?!.*cancel)"))
        page.get_by_role("link", name="Open the report").wait_for()


@needs_chromium
def test_a_page_on_other_ports_is_refused(browser: Browser, ui: UiServer, site: GatedSite) -> None:
    """It is of the same site, as browsers see it: our cookie is sent, and refused."""
    attempts = """async (url) => {
        const send = (path, options) => fetch(url + path, { credentials: "include", ...options })
            .then((answer) => answer.text(), () => "refused");
        const script = document.createElement("script");
        const loaded = new Promise((tell) => {
            script.onload = tell;
            script.onerror = () => tell("refused");
        });
        script.src = url + "/api/searches";
        document.head.append(script);
        return [
            await send("/api/searches"),
            await send("/api/hello?nonce=" + "5e".repeat(16)),
            await send("/api/searches", { method: "POST", body: '{"addresses": "127.0.0.1"}' }),
            await send("/api/searches/cancel", { method: "POST", mode: "no-cors" }),
            await loaded,
        ];
    }"""
    before = len(ui.ask("GET", "/api/searches").json["searches"])
    with entered(browser, ui) as found:
        found.page.goto(site.url)
        assert found.page.evaluate(attempts, ui.url) == ["refused"] * 5
        assert found.told
        found.told.clear()
    assert len(ui.ask("GET", "/api/searches").json["searches"]) == before


@needs_chromium
def test_a_hostile_site(browser: Browser, ui: UiServer) -> None:
    """Nothing of its titles, words and addresses runs: not live, not in the list, not later."""
    with HostileSite() as site:
        lines = [f"{site.url}{path}" for path in PATHS[:2]]
        lines += [*MARKUP, "http://127.0.0.1:1/<script>ran=1</script>"]
        with entered(browser, ui, f"/?url={site.url}/%3Cimg%20onerror=ran=1%3E") as found:
            page = found.page
            search(page, "\n".join(lines))
            # All that can be searched are over, and drawn: a row each.
            rows = page.locator("#runs li")
            expect(rows.filter(has_text="<script>")).to_have_count(3, timeout=PATIENCE)
            page.locator("#now").wait_for(state="hidden", timeout=PATIENCE)
            assert_nothing_ran(found, ui)
            rows.filter(has_text="</title>").get_by_role("link").first.click()
            expect(page.locator("#text")).to_contain_text(
                re.compile("onfocus=|<script>"), timeout=PATIENCE
            )
            page.locator("#tries bdi", has_text="<script>").nth(1).wait_for(timeout=PATIENCE)
            assert_nothing_ran(found, ui)
            page.get_by_role("link", name="Open the report").click()
            page.locator("#topology").wait_for()
            assert_nothing_ran(found, ui)


def assert_nothing_ran(found: Opened, ui: UiServer) -> None:
    found.evaluate(PROVOKE.replace("https?:|#", r"https?:|#|\/|javascript:void open"))
    found.page.wait_for_timeout(100)  # for a request or a script that comes late
    assert found.evaluate("typeof ran") == "undefined"
    assert {url.split("/")[2] for url in found.asked} == {ui.url.split("/")[2]}
    assert found.ran == []
    for link in found.evaluate("[...document.links].map((link) => link.href)"):
        assert re.match(r"https?://|javascript:void open\(\"http://127", link), link


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: Browser, ui: UiServer, site: GatedSite, scheme: str) -> None:
    """While a search goes, and when it is over; on a phone nothing is wider than the screen."""
    site.slow = {SLOW}
    with entered(browser, ui, viewport=SCREEN, color_scheme=scheme) as found:
        page = found.page
        search(page, f"{site.url}{KEY_PAGE}\n{site.url}/nothing\nftp://x/")
        page.locator("#running li", has_text="2 of 3 found").wait_for()
        page.locator("#runs li", has_text="failed").first.wait_for()
        page.locator("details.words summary").last.click()
        check(found)
        page.locator("#running a").first.click()
        expect(page.locator("#members li")).to_have_count(2, timeout=PATIENCE)
        check(found)
        site.gate.set()
        expect(page.locator("#state")).to_have_text("complete", timeout=PATIENCE)
        check(found)


def check(found: Opened) -> None:
    for size in (SCREEN, PHONE):
        found.page.set_viewport_size(size)  # type: ignore[arg-type]  # it has both
        assert found.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert violations(found) == []
    found.page.set_viewport_size(SCREEN)  # type: ignore[arg-type]  # likewise

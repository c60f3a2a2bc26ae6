import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.support.browsers import (
    PHONE,
    PROVOKE,
    SCREEN,
    Opened,
    needs_chromium,
    opened,
    violations,
)
from tests.support.summaries import (
    Search,
    demo_search,
    hostile_search,
    index_rows,
    random_summary,
    unusable,
)
from tplspider.report.clean_page import page_document
from tplspider.report.writer import INDEX, ReportFolder, write_report

MOBILE: dict[str, Any] = {"viewport": PHONE, "is_mobile": True, "has_touch": True}
NAMES = ["demo", "hostile", "no links", "12", "200", "index"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def demo(folder: Path) -> Search:
    return demo_search(folder)


@pytest.fixture(scope="module")
def reports(demo: Search, folder: Path) -> dict[str, Path]:
    """Reports of many kinds, by their names; that of the demo is the crawl's own."""
    searches: dict[str, tuple[dict[str, Any], dict[str, Any] | None]] = {
        "hostile": hostile_search(),
        "no links": (unusable(hint="the key page has no link at all"), None),
        "12": (random_summary(12, 4), None),
        "200": (random_summary(200, 8), None),
    }
    files = {name: folder / f"{name}.html" for name in searches}
    for name, (found, made) in searches.items():
        write_report(files[name], found, made)
    many = ReportFolder(folder / "many")
    for found in index_rows():
        many.add(found)
    many.write_index()
    return files | {"demo": folder / "report.html", "index": folder / "many" / INDEX}


@needs_chromium
@pytest.mark.parametrize("name", NAMES)
def test_nothing_runs_nor_loads(browser: Browser, reports: dict[str, Path], name: str) -> None:
    with opened(browser, reports[name]) as found:
        found.evaluate(PROVOKE)
        assert_harmless(found, reports[name])


def assert_harmless(found: Opened, path: Path) -> None:
    found.page.wait_for_timeout(100)  # for a request or a script that comes late
    assert found.told == []
    assert found.asked == [path.as_uri()]
    assert found.ran == []
    assert found.evaluate("[typeof ran, document.scripts.length]") == ["undefined", 1]
    for link in found.evaluate("[...document.links].map((link) => [link.protocol, link.rel])"):
        assert link in WEB_LINKS or link == ["file:", ""]
    for frame in found.page.frames[1:]:
        assert frame.parent_frame is found.page.main_frame  # no frame in a frame
        elements = {element.lower() for element in frame.evaluate(ELEMENTS)}
        assert not elements & FORBIDDEN
        assert not {name for name in elements if name.startswith("@on")}


ELEMENTS = """() => [...new Set([...document.querySelectorAll("*")].flatMap(
    (element) => [element.localName, ...element.getAttributeNames().map((name) => "@" + name)]
))]"""
WEB_LINKS = [[f"{scheme}:", "noopener noreferrer nofollow"] for scheme in ("http", "https")]
FORBIDDEN = {
    *("script", "img", "iframe", "frame", "link", "base", "object", "embed", "form", "video"),
    *("svg", "math", "@href", "@src", "@srcdoc", "@style", "@background", "@action", "@http-equiv"),
}


@needs_chromium
def test_it_shows_the_summary(browser: Browser, reports: dict[str, Path], demo: Search) -> None:
    """In a frame that may run no script, a switch shows what is template."""
    with opened(browser, reports["demo"], viewport=SCREEN) as found:
        assert found.texts("main h2")[:2] == ["The text of the page", "The answer"]
        members = found.evaluate("[...document.querySelectorAll('.members a')].map(a => a.href)")
        assert members == demo[0]["candidates"]
        more = found.page.locator("#links details").first
        assert not more.locator("code").is_visible()
        more.locator("summary").press("Enter")
        assert more.locator("code").is_visible()
        (frame,) = found.page.frames[1:]
        own = frame.locator("[data-own]")
        assert own.count() > 1
        assert "In the collection" not in " ".join(own.all_inner_texts())
        switch = frame.get_by_label("Template in grey")
        colour = "getComputedStyle(document.querySelector('li a')).color"
        grey = frame.evaluate(colour)
        switch.focus()
        found.page.keyboard.press("Space")
        assert not switch.is_checked()
        assert frame.evaluate(colour) != grey


@needs_chromium
def test_sorting_and_filtering(browser: Browser, reports: dict[str, Path], demo: Search) -> None:
    ranks = [row["rank"] for row in demo[0]["explored"]]
    similarity = {row["rank"]: row["similarity"] for row in demo[0]["explored"]}
    with opened(browser, reports["demo"], viewport=SCREEN) as found:
        first = "#links tbody td:first-child"
        rank = found.page.get_by_role("button", name="Rank")
        rank.click()
        rank.click()
        assert found.texts(first) == [str(rank) for rank in reversed(ranks)]
        # By keyboard alone: from the filter to the button of the column.
        found.page.locator("#links-filter").focus()
        for _ in range(20):
            found.page.keyboard.press("Tab")
            if found.evaluate("document.activeElement.textContent") == "Similarity":
                break
        found.page.keyboard.press("Enter")
        header = found.page.locator("#links th", has_text="Similarity")
        assert header.get_attribute("aria-sort") == "ascending"
        shown = [similarity[int(text)] for text in found.texts(first)]
        known = [value for value in shown if value is not None]
        assert known == sorted(known)
        assert shown[len(known) :] == [None] * (len(shown) - len(known))  # empty ones are last
    for name, table, words, expected in [
        ("demo", "links", "TANDEMS  museum", 1),
        ("demo", "links", "no such words", 0),
        ("index", "searches", "<script>", 2),
    ]:
        with opened(browser, reports[name], viewport=SCREEN) as found:
            every = len(found.texts(f"#{table} tbody tr"))
            found.page.get_by_label("Show rows with").press_sequentially(words)
            output = found.page.locator(f"output[for={table}-filter]")
            output.filter(has_text=f"{expected} of {every} rows").wait_for()
            assert len(found.texts(f"#{table} tbody tr")) == expected


# How an element looks: what is drawn around it, or the outline of what is in it.
LOOK = """(element) => [element, ...element.querySelectorAll("circle, rect")].map((part) => {
    const style = getComputedStyle(part);
    const outline = style.outlineStyle === "none" ? "" : style.outline;
    return [outline, style.stroke, style.strokeWidth].join();
}).join(";")"""


NO_FOCUS = "document.activeElement === document.body"


@needs_chromium
@pytest.mark.parametrize("name", ["demo", "index"])
def test_keyboard_focus_is_seen(browser: Browser, reports: dict[str, Path], name: str) -> None:
    with opened(browser, reports[name], viewport=SCREEN) as found:
        stops: list[str] = []
        for _ in range(60):
            found.page.keyboard.press("Tab")
            # From an iframe, which is a process of its own, the focus comes back a little later.
            end = time.monotonic() + 2
            while (is_none := found.evaluate(NO_FOCUS)) and time.monotonic() < end:
                time.sleep(0.02)
            if is_none:
                break
            focused = found.page.evaluate_handle("document.activeElement")
            if focused.evaluate("(element) => element.localName") == "iframe":
                continue  # what has the focus inside of it is the page's own
            looks = focused.evaluate(LOOK)
            stops.append(focused.evaluate("(e) => e.dataset.rank || e.localName"))
            if stops[-1].isdigit():
                caption = found.page.locator(".caption").inner_text()
                assert caption == focused.evaluate("(e) => e.querySelector('title').textContent")
            focused.evaluate("(element) => element.blur()")
            assert looks != focused.evaluate(LOOK), stops
            focused.evaluate("(element) => element.focus({ focusVisible: true })")
        assert {"a", "button", "input"} <= {*stops}
        if name == "demo":
            assert [stop for stop in stops if stop.isdigit()] == ["0", "1", "3", "5", "6"]


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["demo", "hostile", "no links", "12", "index"])
def test_axe_finds_no_violation(
    browser: Browser, reports: dict[str, Path], name: str, scheme: str
) -> None:
    with opened(browser, reports[name], color_scheme=scheme, viewport=SCREEN) as found:
        assert violations(found) == []


@needs_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_of_the_frames(browser: Browser, demo: Search, tmp_path: Path, scheme: str) -> None:
    """On their own: axe does not reach into a frame that may not run scripts.

    The headings and landmarks are the site's; the colours are ours.
    """
    path = tmp_path / "page.html"
    path.write_text(page_document(demo[1]["key_html"]), "utf-8")
    with opened(browser, path, color_scheme=scheme, viewport=SCREEN) as found:
        for is_grey in (True, False):
            found.page.get_by_label("Template in grey").set_checked(is_grey)
            assert violations(found, "color-contrast", "label") == []


@needs_chromium
@pytest.mark.parametrize("name", ["demo", "hostile", "200", "index"])
def test_it_fits_a_phone(browser: Browser, reports: dict[str, Path], name: str) -> None:
    """Rows are cards, in which each text has the name of its column; a wide region says so."""
    with opened(browser, reports[name], **MOBILE) as found:
        assert found.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        table = "#searches" if name == "index" else "#links"
        assert found.evaluate(f"document.querySelector('{table}').scrollWidth") <= PHONE["width"]
        names = found.evaluate(
            f"[...document.querySelectorAll('{table} tbody tr:first-child td')].filter((cell) =>"
            " cell.offsetWidth).map((cell) => getComputedStyle(cell, '::before').content)"
        )
        assert len(names) > 3
        assert all(len(name) > 2 for name in names)
        found.evaluate("document.querySelectorAll('.fold').forEach((fold) => (fold.open = true))")
        found.page.wait_for_function(  # observers come later
            "() => [...document.querySelectorAll('.scroll')].every((region) =>"
            " region.scrollWidth > region.clientWidth + 1 === !region.nextElementSibling.hidden)"
        )
        if name == "demo":
            assert violations(found) == []

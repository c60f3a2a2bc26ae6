"""Reports in Firefox: nothing on its console, nothing asked for, nothing runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.report_pages import AWAY, demo_search, hostile_search, index_rows
from tplspider.report.files import ReportFolder
from tplspider.report.place import INDEX

pytest.importorskip("websockets", reason="websockets is not installed")
from tests.support.firefox import FIREFOX, Firefox, firefox

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [
    pytest.mark.browser,
    pytest.mark.nightly,
    pytest.mark.skipif(FIREFOX is None, reason="no Firefox is installed"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Firefox]:
    with firefox() as found:
        yield found


def test_what_firefox_tells(browser: Firefox, tmp_path: Path) -> None:
    """Else the tests below could not fail."""
    path = tmp_path / "page.html"
    words = f"<meta charset=utf-8><script>ran = 1; console.error('words')</script><img src={AWAY}/>"
    path.write_text(f"<!DOCTYPE html>{words}")
    browser.open(path)
    assert browser.evaluate("self.ran") == 1
    assert browser.told == ["words"]
    assert browser.asked == [f"{AWAY}/"]
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"
    path.write_text(f"<!DOCTYPE html>{policy}{words}")
    browser.open(path)
    assert len(browser.evaluate("self.blocked")) == 2
    assert len(browser.told) == 2


def test_the_report_of_the_demo(browser: Firefox, tmp_path: Path) -> None:
    found, _ = demo_search(tmp_path)
    browser.open(tmp_path / "report.html")
    pages = [row["rank"] for row in found["explored"] if row["outcome"] == "page"]
    nodes = "[...document.querySelectorAll('#topology .node')].map((node) => +node.dataset.rank)"
    assert browser.evaluate(nodes) == [0, *pages]
    assert browser.evaluate("document.querySelectorAll('#links tbody tr').length") == len(
        found["explored"]
    )
    assert browser.evaluate("frames.length") == 1
    # Its script works here, too.
    browser.evaluate("document.querySelector('#links th button').click()")
    browser.evaluate("document.querySelector('#links th button').click()")
    ranks = "[...document.querySelectorAll('#links tbody td:first-child')].map(n => +n.textContent)"
    assert browser.evaluate(ranks) == [row["rank"] for row in reversed(found["explored"])]
    assert_harmless(browser)


def test_a_hostile_report_and_index(browser: Firefox, tmp_path: Path) -> None:
    found, made = hostile_search()
    folder = ReportFolder(tmp_path)
    for other in index_rows():
        folder.add(other)
    folder.add(found, made)
    folder.write_index()
    for name in (f"{found['search_id']}.html", INDEX):
        browser.open(tmp_path / name)
        assert "<script>" in browser.evaluate("document.body.innerText")
        assert_harmless(browser)


def assert_harmless(browser: Firefox) -> None:
    # A request or a script that comes late.
    browser.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert browser.told == []
    assert browser.asked == []
    state = browser.evaluate(
        "[typeof ran, blocked, document.scripts.length, document.title !== '']"
    )
    assert state == ["undefined", [], 1, True]

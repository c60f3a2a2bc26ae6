"""Items as they are shown in a log: one line each, and a short one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tplspider import CandidateSearch, PageTemplate, TemplateCandidate

if TYPE_CHECKING:
    from tplspider.items import ExploredLink

URL = "http://example.org/" + "long/" * 500
TEXT = "a text\n\x1b[31m from the web \x00" * 100_000


ROW: ExploredLink = {
    "rank": 1, "link": URL, "url": URL, "outcome": "page", "reason": "", "missing": [],
    "title": TEXT, "anchor_text": TEXT, "dom_path": TEXT, "h_distance": 0, "similarity": 0.5,
    "links_to": [0],
}  # fmt: skip


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (
            TemplateCandidate(
                *(URL, URL, URL, 30_000, -1, TEXT, TEXT, TEXT, 999, 999, True, 99_999, 0.5)
            ),
            ("rank=30000", "url='http://example.org/long/", "title='a text", "cs_size=999"),
        ),
        (
            CandidateSearch(
                *(URL, 999, 99, False, "closespider_pagecount", "offsite-redirect", 99_999, 99_999),
                candidates=[URL] * 99,
                explored=[ROW] * 999,
                hint=TEXT,
            ),
            ("reason='closespider_pagecount'", "cs_size=99", "loads=99999"),
        ),
        (
            PageTemplate(URL, [URL] * 99, TEXT, TEXT, TEXT, [TEXT] * 999, 0.8333333333333333),
            ("template_share=0.83", "content_text='a text"),
        ),
    ],
)
def test_a_short_line(item: object, words: tuple[str, ...]) -> None:
    shown = repr(item)
    assert str(item) == shown
    assert len(shown) <= 300
    assert shown.isprintable()
    assert shown.startswith(f"{type(item).__name__}(")
    for word in words:
        assert word in shown

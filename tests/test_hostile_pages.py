"""Pages that would take minutes, gigabytes or a whole row: what they cost, and what is told."""

import pytest

from benchmarks.hostile_pages import KINDS, opened
from tests.support.growth import is_linear
from tplspider.search.answer import LONGEST
from tplspider.search.session import SearchSession
from tplspider.web.page import WebPage

URL = "http://example.org/dir/index.html"
HTML = {"content-type": "text/html"}


def session_of(html: str) -> SearchSession:
    session = SearchSession(URL)
    session.open(WebPage(URL, html.encode(), headers=HTML))
    return session


def test_rows_are_short() -> None:
    pages = ("a", "b", "c")
    words, title = "word " * 1000, f"<title>{'t' * 3_400_000}</title>"
    links = "".join(f"<a href={name}>{words}</a>" for name in pages)
    session = session_of(title + "<div>" * 500 + links)
    while visits := session.take():
        for visit in visits:
            body = f"{title}{visit.link.url}{links}".encode()
            session.tell(visit.rank, session.read(WebPage(visit.link.url, body, headers=HTML)))
    assert session.summary
    assert session.summary.complete
    assert len(session.summary.key_title) == LONGEST
    found = session.candidates()
    assert len(found) == 3
    for item, row in zip(found, session.summary.explored, strict=True):
        told = (item.title, item.anchor_text, item.dom_path)
        assert told == (row["title"], row["anchor_text"], row["dom_path"])
        assert told == ("t" * LONGEST, words[:LONGEST], "")


@pytest.mark.parametrize("strategy", ["paper", "guided"])
@pytest.mark.parametrize("kind", KINDS)
def test_costs_grow_with_the_page(kind: str, strategy: str) -> None:
    pages = {size: KINDS[kind](size) for size in (2_000, 4_000)}
    assert is_linear(lambda size: opened(pages[size], strategy), 2_000)

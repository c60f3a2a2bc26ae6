"""Pages that would take minutes, gigabytes or a whole row: what they cost, and what is told."""

from collections.abc import Callable
from time import process_time

import pytest

from benchmarks.hostile_pages import KINDS, opened
from tplspider.search.answer import LONGEST
from tplspider.search.session import SearchSession
from tplspider.web.page import WebPage

LEAST = 0.02  # seconds: what takes less is lost in the noise of a machine
TRIES = 3


def best_time(function: Callable[[], object]) -> float:
    """The seconds of CPU that *function* takes at best; no less than can be told from noise."""
    times = []
    for _ in range(TRIES):
        start = process_time()
        function()
        times.append(process_time() - start)
    return max(LEAST, min(times))


def is_linear(function: Callable[[int], object], size: int) -> bool:
    """Whether twice the *size* takes *function* less than three times as long.

    What is quadratic takes four times as long whenever it is measured; a busy machine does not.
    """
    return any(
        best_time(lambda: function(2 * size)) < 3 * best_time(lambda: function(size))
        for _ in range(3)
    )


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

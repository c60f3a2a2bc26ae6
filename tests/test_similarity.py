import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import literal
from tests.support.pages import DOCUMENTS
from tplspider import Page, Site, identity, parse_html, read_page, similarity

KEY = "http://example.org/docs/index.html"
OTHER = "http://example.org/docs/a.html"
SITE = Site(identity(KEY))
TEXTS = st.sampled_from(
    ["Home", " Home\n", "» Home", "Home | ", "12", "Über\xa0uns", "x" * 40, "x" * 41, "<b>Home</b>"]
)

CLASSES = st.sampled_from(["", " class=menu", " class='menu  wide'"])
BLOCKS = st.lists(
    st.builds("<div{}>{}<p>{}</p></div>".format, CLASSES, DOCUMENTS, TEXTS), max_size=4
).map("".join)


def page(html: str, url: str = OTHER) -> Page:
    return read_page(parse_html(html), url, SITE)


@pytest.mark.slow
@given(BLOCKS, BLOCKS)
def test_it_is_that_of_the_definition(key: str, other: str) -> None:
    expected = literal.similarity(literal.LiteralPage(KEY, key), literal.LiteralPage(OTHER, other))
    found = similarity(page(key, KEY), page(other))
    assert 0 <= found <= 1
    assert found == pytest.approx(expected, abs=0.0005)


MENU = "<ul class=menu><li><a href=a.html>Home</a><li><a href=b.html>News</a></ul>"


def test_it_is_the_share_of_what_the_key_page_has() -> None:
    key = page(f"{MENU}<p>Own.<p>Words.", KEY)
    # 8 pairs: body ul, ul li, li a, a li (li a again), a p, p p. Texts: Home, News, Own, Words.
    # Links: b.html, because a.html is the other page itself.
    same_menu = page(f"{MENU}<p>Other.")
    assert similarity(key, same_menu) == pytest.approx((5 / 6 + 2 / 4 + 1) / 3, abs=0.001)
    # What only the other page has does not count: it is not symmetric.
    assert similarity(page(MENU, KEY), page(f"{MENU}<table><tr><td>Much more.</table>")) == 1
    assert similarity(page(f"{MENU}<table><tr><td>Much more.</table>", KEY), page(MENU)) < 0.9


def test_pages_that_share_nothing_and_pages_with_nothing() -> None:
    nothing = Page("http://example.org/x", "http://example.org/x")
    assert similarity(page(MENU, KEY), page("<table><tr><td><img></table>")) == 0
    assert similarity(page(MENU, KEY), nothing) == 0
    assert similarity(nothing, page(MENU)) == 0
    # What the key page has none of plays no part.
    by_hand = Page("k", "k", frozenset({"a", "b", "c"}))
    assert similarity(by_hand, Page("a", "a", frozenset({"b"}))) == 0.5

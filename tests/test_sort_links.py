from hypothesis import given
from hypothesis import strategies as st

from tests import literal
from tests.support.kinds import examples
from tests.support.pages import DOCUMENTS, select
from tplspider.search.sort_links import (
    HyperlinkDistances,
    farthest_first,
    h_distance,
    link_relevance,
    sort_links,
)
from tplspider.web.addresses import Site, identity
from tplspider.web.html import get_links, parse_html

PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)


def test_example_of_the_four_links() -> None:
    distances = HyperlinkDistances("http://www.upv.es/research/maths/index.html")
    links = {
        "http://www.tesco.es/": -3,
        "http://www.upv.es/research/maths/pi.html": 0,
        "http://www.upv.es/sport/": -2,
        "http://www.upv.es/research/maths/news/computers.html": 1,
    }
    assert {link: distances.to(link) for link in links} == links
    assert sorted(links, key=lambda link: link_relevance(links[link])) == [
        "http://www.upv.es/research/maths/pi.html",
        "http://www.upv.es/research/maths/news/computers.html",
        "http://www.upv.es/sport/",
        "http://www.tesco.es/",
    ]


@given(PATHS, PATHS)
def test_distance_is_that_of_the_definition(h: list[str], g: list[str]) -> None:
    assert h_distance(h, g) == literal.h_distance(h, g)


URL = "http://example.org/docs/index.html"


def nested(shape: object) -> str:
    """A page of nested lists: a link for every leaf, an element for every list."""
    if isinstance(shape, list):
        return f"<div>{''.join(map(nested, shape))}</div>"
    return f"<a href='{shape}.html'>x</a>"


SHAPES = st.recursive(
    st.integers(0, 10_000), lambda inner: st.lists(inner, max_size=6), max_leaves=60
)


@examples(300)
@given(SHAPES)
def test_order_is_that_of_the_quadratic_reading(shape: object) -> None:
    root = parse_html(f"<body>{nested(shape)}</body>")
    links = get_links(root, URL, Site(identity(URL)))
    expected = literal.sort_links(
        [literal.LiteralLink(link.identity, link.url, link.element) for link in links], URL
    )
    assert [link.url for link in sort_links(links, identity(URL))] == [
        link.url for link in expected
    ]


@given(DOCUMENTS)
def test_order_of_groups_and_odd_trees(html: str) -> None:
    root = parse_html(html)
    links = get_links(root, URL, Site(identity(URL), "domain"))
    expected = literal.sort_links(literal.get_links(html, URL, URL, "domain", root=root), URL)
    assert [link.url for link in sort_links(links, identity(URL))] == [
        link.url for link in expected
    ]


def test_the_root_is_the_document() -> None:
    # Two top-level elements, two edges apart: more than the first and its head, and as many as the
    # first and its title, which comes before the second.
    html = "<html><head><title>x</title></head></html><body><a href='x'>x</a></body></html>"
    first, head, title, second = select(html, "/* | /html/head | /html/head/title")
    assert literal.dom_distance(first, second) == 2
    assert farthest_first([first, head, second]) == [0, 2, 1]
    assert farthest_first([first, title, second]) == [0, 1, 2]


def test_farthest_first_by_hand() -> None:
    # Three menus: after the first link of the first, the first link of the deepest comes next.
    html = (
        "<ul><li><a id=0 href=0>x</a></li><li><a id=1 href=1>x</a></li></ul>"
        "<div><div><div><ul><li><a id=2 href=2>x</a></li><li><a id=3 href=3>x</a></li></ul></div>"
        "</div></div><p><a id=4 href=4>x</a></p>"
    )
    elements = select(html, "//a")
    assert farthest_first(elements) == [0, 2, 4, 1, 3]

import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree
from parsel import Selector
from scrapy.linkextractors import IGNORED_EXTENSIONS

from tests import literal
from tests.support.kinds import examples
from tests.support.pages import DOCUMENTS
from tplspider.web.addresses import Site, identity
from tplspider.web.html import IGNORED_EXTENSIONS as OURS
from tplspider.web.html import get_links, is_too_costly, link_addresses, parse_html, tag_cost

URL = "http://example.org/docs/index.html"


def links_of(html: str, scope: str = "host", url: str = URL) -> list[str]:
    return [link.url for link in get_links(parse_html(html), url, Site(identity(URL), scope))]


@given(DOCUMENTS, st.sampled_from(["host", "domain"]))
def test_links_are_those_of_the_definition(html: str, scope: str) -> None:
    root = parse_html(html)
    links = get_links(root, URL, Site(identity(URL), scope))
    expected = literal.get_links(html, URL, URL, scope, root=root)
    assert [(link.identity, link.url, link.element) for link in links] == [
        (link.identity, link.url, link.element) for link in expected
    ]
    assert link_addresses(root, URL, Site(identity(URL), scope)).keys() == {
        link.identity for link in expected
    }


def test_ignored_extensions_are_those_of_scrapy() -> None:
    assert frozenset(IGNORED_EXTENSIONS) == OURS


def test_addresses_that_cannot_be_parsed_are_counted() -> None:
    unparsable: list[str] = []
    root = parse_html("<a href='http://[::1'>x</a><a href='http://x:y/'>x</a><a href='z'>z</a>")
    assert len(get_links(root, URL, Site(identity(URL)), unparsable=unparsable)) == 1
    assert unparsable == ["http://[::1", "http://x:y/"]


def test_the_first_element_stands_for_the_link() -> None:
    html = "<p><a download href='x'>d</a> <a href='x#1'>one</a> <a href='./x'>two</a></p>"
    (link,) = get_links(parse_html(html), URL, Site(identity(URL)))
    assert (link.anchor_text, link.dom_path) == ("one", "/html/body/p/a[2]")


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<a href='x'> About <b>us</b>,\n<i>all</i> </a>", "About us, all"),
        ("<a href='x'><img alt=' Home  page '></a>", "Home page"),
        ("<a href='x'><img src=1><img alt='second'></a>", "second"),
        ("<a href='x'><img alt='i'>word</a>", "word"),
        ("<a href='x'><!-- c --><script>s</script><style>t</style></a>", ""),
        ("<map><area href='x' alt='a region'></map>", "a region"),
    ],
)
def test_anchor_text(html: str, text: str) -> None:
    (link,) = get_links(parse_html(html), URL, Site(identity(URL)))
    assert link.anchor_text == text


def test_links_of_another_page_stay_on_the_key_pages_site() -> None:
    html = "<a href='/x'>x</a><a href='http://example.org/y'>y</a>"
    assert links_of(html, url="http://sub.example.org/page") == ["http://example.org/y"]


ODD_PIECES = st.sampled_from(
    [
        *("<p id=a class='b c'>text", "</p> tail", "<p id=a>the same name again", "\0", "\ud800"),
        *("\x0b\x0c\x85\u2028\xa0", "<?xml version='1.0' encoding='latin-1'?>", "\ufeff"),
        *("<!DOCTYPE html>", "<!-- a comment -->", "<!-- not ended", "<textarea><b>", "é日😀"),
        *("<svg:rect xmlns:svg='x' svg:a=1 a:b=2>", "<html lang=en>", "</html>", "</body>"),
        *("<body onload=x()>", "<table><tr><td>", "<script>'<p>'</script>", "<![CDATA[ x ]]>"),
        *("&amp;&#0;&#xD800;&nbsp;&nosuch;", "<p a a=1 A=2 =3 ''>"),
    ]
)


def content(root: etree._Element) -> list[tuple[Any, ...]]:
    """All that is in a tree, of its top-level siblings, too."""
    top = root.getroottree().getroot()
    tops = [*reversed([*top.itersiblings(preceding=True)]), top, *top.itersiblings()]
    return [
        (node.tag, dict(node.attrib), node.text, node.tail, len(node))
        for top in tops
        for node in top.iter()
    ]


@given(st.lists(ODD_PIECES, max_size=8).map("".join))
@example("")
@example(" \0\n")
@example("<!-- alone -->")
@example("<div>" * 3000 + "Deep")
def test_odd_pages(html: str) -> None:
    encodable = html.encode("utf-8", "replace").decode()  # parsel raises for lone surrogates
    assert content(parse_html(html)) == content(Selector(text=encodable, type="html").root)


MANY = 30_000
NAMES = [f"a{number}" for number in range(MANY)]


@pytest.mark.parametrize(
    "html",
    [
        "<p " + " ".join(NAMES) + ">x</p>",
        "<script " + " ".join(NAMES) + "></script>",
        # Each hides the tag from those who do not read as the parser does.
        *(
            start + "<p " + " ".join(NAMES) + ">" + end
            for start, end in (
                ("<!-->", "-->"),
                ("<!-- --!>", "-->"),
                ('<p =">', '<b ">'),
                ('<p a==">', '<b ">'),
                ('<p a=\v">', '<b ">'),
                ("</p x='<!--'>", ""),
                ("<textarea><script></textarea>", ""),
                ("<script/>", "</script>"),
                ("<\0p a>", ""),
                ("<script><!--<script></script><textarea></script></script>", ""),
            )
        ),
        *(f"<p {between.join(NAMES)}>" for between in ("=1 ", '=">"', "/", "\n<")),
        "<script></script><p " + " a" * MANY + "><!-- -->",
        ("<p " + " ".join(NAMES[:5000]) + ">") * 10,
    ],
)
def test_tags_that_are_too_dear(html: str) -> None:
    assert is_too_costly(html)


@pytest.mark.parametrize(
    "html",
    [
        "<pre>" + "word " * 9 * MANY + "</pre>",
        "<script>for (i = 0; i <n; i++) {}" + "x = 1; " * MANY + "</script>",
        "<p title='" + "word " * MANY + "'>",
        '<p class=x">' + "word " * MANY + "<b>",
        "<a href=" + "../" * MANY + "x>Up</a>",
        "<!-- <a " + "word " * MANY + "-->",
        "<p a=1 b=2 c=3 d=4>x</p>" * MANY,
    ],
)
def test_pages_of_people(html: str) -> None:
    assert not is_too_costly(html)
    start = time.process_time()
    parse_html(html)
    assert time.process_time() - start < 10


TAG_PIECES = st.sampled_from(
    [
        *("<p", "<a ", "</p", "</", "<!", "<!--", "-->", "--!>", "<!-->", "-", ">", "<", "<1", "x"),
        *("<script", "</script", "<Script>", "</scripT>", "<script/>", "<scriptx>", "</scriptx>"),
        *("<style>", "</style>", "<textarea>", "</textarea>", "<title>", "</title>", "<xmp "),
        *("</xmp>", "<iframe", "</iframe >", "<noframes>", "<noscript>", "</noscript>", "<?"),
        *(" ", "/", "=", '"', "'", " a", " b=1", " c='>'", ' d=">"', '="', "='", "\n", "\v", "\0"),
        *("<![CDATA[", "]]>", "<!doctype html ", "é", "\u017f", "&gt;", "<b>", '<i class="x">'),
    ]
)


class Seen:
    """What the parser itself finds, without short tags of plain attributes."""

    def __init__(self) -> None:
        self.cost = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.cost += len(attributes) ** 2 if "b" in attributes else 0

    def close(self) -> int:
        return self.cost


@examples(1000)
@given(st.lists(TAG_PIECES, max_size=14).map("".join))
@example("</><p a b=1>")
@example("<xmp/><p a b=1>")
def test_no_attribute_of_the_parser_is_missed(html: str) -> None:
    seen: Any = Seen()
    parser = etree.HTMLParser(target=seen, recover=True, encoding="utf-8", huge_tree=True)
    etree.fromstring(b"<u>" + html.replace("\0", "").encode(), parser)
    assert tag_cost(html, 0) >= seen.cost

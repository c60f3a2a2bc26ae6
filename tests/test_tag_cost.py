"""Pages whose tags would keep the parser busy for minutes are told from those with much text."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.support.growth import is_linear
from tplspider.web.html import is_too_costly, parse_html, tag_cost

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
        "<p " + "=1 ".join(NAMES) + ">",
        "<p " + '=">"'.join(NAMES) + ">",
        "<p " + "/".join(NAMES) + ">",
        '<p x" ' + "\n<".join(NAMES) + ">",
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


PIECES = st.sampled_from(
    [
        *("<p", "<a ", "</p", "</", "<!", "<!--", "-->", "--!>", "<!-->", "-", ">", "<", "<1", "x"),
        *("<script", "</script", "<Script>", "</scripT>", "<script/>", "<scriptx>", "</scriptx>"),
        *("<style>", "</style>", "<textarea>", "</textarea>", "<title>", "</title>", "<xmp "),
        *("</xmp>", "<iframe", "</iframe >", "<noframes>", "<noscript>", "</noscript>", "<?"),
        *(" ", "/", "=", '"', "'", " a", " b=1", " c='>'", ' d=">"', '="', "='", "\n", "\v", "\0"),
        *(
            "<![CDATA[",
            "]]>",
            "<!doctype html ",
            "é",
            "\u017f",
            "&gt;",
            "<b>",
            '<i class="x" id="y">',
        ),
    ]
)


class Seen:
    """What the parser itself finds; of short tags with plain attributes nobody keeps count."""

    def __init__(self) -> None:
        self.cost = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.cost += len(attributes) ** 2 if "b" in attributes else 0

    def close(self) -> int:
        return self.cost


@settings(max_examples=1000)
@given(st.lists(PIECES, max_size=14).map("".join))
@example("</><p a b=1>")
@example("<xmp/><p a b=1>")
def test_no_attribute_of_the_parser_is_missed(html: str) -> None:
    seen: Any = Seen()
    parser = etree.HTMLParser(target=seen, recover=True, encoding="utf-8", huge_tree=True)
    etree.fromstring(b"<u>" + html.replace("\0", "").encode(), parser)
    assert tag_cost(html, 0) >= seen.cost


GROWING = {
    "comments": ("<p " + " ".join(NAMES) + ">", "<!--"),
    "scripts": ("<p " + " ".join(NAMES) + ">", "<script"),
    "ended scripts": ("<p " + " ".join(NAMES) + ">", "<script>"),
    "escaped scripts": ("<script>", "<!--<script>"),
    "styles": ("<style>", "</style"),
    "dashes": ("<!--", "--"),
    "tags": ("", "<a ="),
    "open quotes": ("", "<a b=\"'"),
    "closed quotes": ("", '<a b="" c=\''),
    "spaces": ("", "<a b      "),
    "less-thans": ("", "<"),
    "slashes": ("<a", "/"),
    "ends": ("", "</"),
    "attributes": ("", '<a b="'),
}


@pytest.mark.parametrize("kind", GROWING)
def test_looking_at_tags_grows_with_the_page(kind: str) -> None:
    start, again = GROWING[kind]
    pages = {size: start + again * (size // len(again)) for size in (200_000, 400_000)}
    assert is_linear(lambda size: is_too_costly(pages[size]), 200_000)

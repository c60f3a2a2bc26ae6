from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import literal
from tplspider.web.addresses import Site
from tplspider.web.html import parse_html, visible_text
from tplspider.web.page import fingerprint, read_page

PIECES = st.sampled_from(
    [
        "<p>text</p>",
        "<b>bo</b>ld",
        "<script>var a = '<p>';</script>",
        "<style>p {}</style>",
        "<noscript>plain <p>inner</p> tail</noscript>",
        "<template><p>inner</p></template>",
        "<noscript><style>text</style></noscript>",
        "<template><script>tail</script><!-- inner --></template>",
        "<p>inner</p> tail",
        "<!-- comment -->",
        "<title>a title</title>",
        "<script></script> after\xa0",
        "\n \t",
        "</html><body>",
        "<textarea> area </textarea>",
        "&amp;&lt;",
    ]
)


@given(st.lists(PIECES, max_size=12))
def test_visible_text_is_that_of_the_definition(pieces: list[str]) -> None:
    html = f"<html><body>{''.join(pieces)}</body></html>"
    assert visible_text(parse_html(html)) == literal.visible_text(html)


def test_visible_text_by_hand() -> None:
    html = (
        "<html><head><title> T </title><script>s</script></head><body>a<b>b</b>c"
        "<noscript><p>n</p></noscript> <!-- no --> <template>t</template>\u3000end</body></html>"
    )
    assert visible_text(parse_html(html)) == "T a b c end"


def test_no_text_has_no_fingerprint() -> None:
    assert fingerprint("") is None
    assert fingerprint("a") == fingerprint("a") != fingerprint("b")
    assert fingerprint("\ud800") is not None


@pytest.mark.parametrize("declaration", ["", '<?xml version="1.0" encoding="utf-8"?>'])
def test_a_page_is_html_whatever_its_first_line_says(declaration: str) -> None:
    url = "http://example.org/"
    html = f"{declaration}<html><head><title>A\n title</title></head><a href='/x'>x</a></html>"
    page = read_page(parse_html(html), url, Site(url))
    assert page.title == "A title"
    assert page.links == {"http://example.org/x"}

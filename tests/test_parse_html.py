"""The tree of a page is the one that parsel makes, and lxml's plain parser, whatever the page."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from lxml import etree
from parsel import Selector

from tests.support.crawls import SITES
from tplspider.web.html import parse_html

PAGES = sorted(path for path in SITES.rglob("*") if path.suffix in (".html", ".htm"))
PIECES = st.sampled_from(
    [
        "<p id=a class='b c'>text",
        "</p> tail",
        "<p id=a>the same name again",
        "\0",
        "\ud800",
        "\x0b\x0c\x85\u2028\xa0",
        "<?xml version='1.0' encoding='latin-1'?>",
        "<!DOCTYPE html>",
        "<!-- a comment -->",
        "<!-- not ended",
        "<svg:rect xmlns:svg='x' svg:a=1 a:b=2>",
        "<html lang=en>",
        "</html>",
        "<body onload=x()>",
        "</body>",
        "<table><tr><td>",
        "<script>'<p>'</script>",
        "<textarea><b>",
        "&amp;&#0;&#xD800;&nbsp;&nosuch;",
        "<p a a=1 A=2 =3 ''>",
        "<![CDATA[ x ]]>",
        "é日😀",
        "\ufeff",
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


def plainly(html: str) -> etree._Element:
    """The tree that lxml makes of a page without any help."""
    parser = etree.HTMLParser(recover=True, encoding="utf-8", huge_tree=True)
    body = html.strip().replace("\0", "").encode("utf-8", "replace")
    root = etree.fromstring(body, parser) if body else None
    return etree.fromstring(b"<html/>", parser) if root is None else root


@pytest.mark.parametrize("path", PAGES, ids=str)
def test_pages_of_sites(path: Any) -> None:
    html = path.read_text("utf-8")
    assert content(parse_html(html)) == content(Selector(text=html, type="html").root)


@given(st.lists(PIECES, max_size=8).map("".join))
@example("")
@example(" \0\n")
@example("<!-- alone -->")
@example("<div>" * 3000 + "Deep")
def test_odd_pages(html: str) -> None:
    found = content(parse_html(html))
    assert found == content(plainly(html))
    encodable = html.encode("utf-8", "replace").decode()  # parsel raises for lone surrogates
    assert found == content(Selector(text=encodable, type="html").root)

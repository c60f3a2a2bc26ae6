"""The lines of a page as a reader sees them, for judging texts by the whole site.

They are found here by rules of their own, not by those of the extractor, which is to be judged.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urljoin

from lxml import etree

from tplspider.web.html import fold, parse_html, top_level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.web.html import Element

# What shows no text of the page.
_NOT_SHOWN = frozenset("head iframe noscript object script style svg template".split())
# What a line does not go beyond: blocks, cells, entries, parts of forms, and line breaks.
_ENDS_LINE = frozenset(
    "address article aside blockquote body br button caption center dd details dialog dir div dl dt"
    " fieldset figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hr html legend li"
    " main marquee menu nav noframes ol optgroup option p pre section select summary table tbody td"
    " textarea tfoot th thead title tr ul".split()
)
_WORD = re.compile(r"\w")


class Line(NamedTuple):
    """A line of a page, and where it leads, if it is a link and nothing else."""

    text: str
    target: str = ""


class _Piece(NamedTuple):
    """A text node; between lines, one that ends a line."""

    text: str
    target: str = ""
    is_end: bool = False


_END = _Piece("", is_end=True)


def lines_of(html: str, url: str) -> tuple[Line, ...]:
    """The visible lines of a page, in document order.

    A line of links and punctuation, such as ``Home | News``, is one line for each link.
    """
    found: list[Line] = []
    for top in top_level(parse_html(html)):
        for is_end, pieces in groupby(_pieces(top, url), key=lambda piece: piece.is_end):
            if not is_end:
                found += _lines(list(pieces))
    return tuple(line for line in found if line.text)


def _lines(pieces: list[_Piece]) -> list[Line]:
    linked = [piece for piece in pieces if piece.target]
    if not linked or any(_WORD.search(piece.text) for piece in pieces if not piece.target):
        return [Line(fold("".join(piece.text for piece in pieces)))]
    return [
        Line(fold("".join(piece.text for piece in same)), target)
        for target, same in groupby(linked, key=lambda piece: piece.target)
    ]


def _pieces(top: Element, url: str) -> Iterator[_Piece]:
    target = ""
    walk = etree.iterwalk(top, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        tag = node.tag if event in ("start", "end") else ""
        if tag in _ENDS_LINE:
            yield _END
        if event == "start":
            if tag in _NOT_SHOWN:
                walk.skip_subtree()
                continue
            if tag == "a" and (href := node.get("href")) is not None:
                target = _absolute(url, href)
            yield _Piece(node.text or "", target)
        else:
            if tag == "a":
                target = ""
            if node is not top:
                yield _Piece(node.tail or "", target)


def _absolute(url: str, href: str) -> str:
    try:
        return urljoin(url, href.strip())
    except ValueError:  # it leads nowhere, but may do so on every page
        return href

"""A tree of lxml's, put right where a browser's would be another and words would be lost.

lxml leaves what follows an unclosed ``<svg>`` or ``<image>`` inside of it. The rules are those of
HTML (https://html.spec.whatwg.org/multipage/parsing.html). Scripts are off and nothing is loaded,
so that what stands in for a script or an object is part of the page.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tplspider.report.shown_text import harmless, short
from tplspider.web.html import Element, main_body, parse_html

if TYPE_CHECKING:
    from collections.abc import Iterator

# An element of HTML that ends a drawing or a formula, wherever it stands in it,
_ENDS_FOREIGN = frozenset(
    "b big blockquote body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img li"
    " listing menu meta nobr ol p pre ruby s small span strike strong sub sup table tt u ul"
    " var".split()
)
# but in these, which are there to hold HTML.
_HOLD_HTML = frozenset("foreignobject desc title".split())
_WORDS_OF_SVG = ("text", "foreignobject")
_NOT_DRAWN = frozenset("clippath defs desc marker mask metadata pattern symbol title".split())
_RAW_TEXT = ("iframe", "noembed", "noframes", "script", "style", "textarea", "title", "xmp")
_END_OF_NOSCRIPT = re.compile(r"</noscript(?:[\s/][^>]*)?>", re.IGNORECASE)


def as_browsers_read(body: Element) -> None:
    """Change the tree below *body*."""
    for noscript in list(body.iter("noscript")):
        _end_noscript(noscript)
    for svg in list(body.iter("svg")):
        if _is_outermost(svg):
            _end_svg(svg)
    for svg in list(body.iter("svg")):
        if next(svg.iterancestors("svg"), None) is None:
            _keep_words(svg)
    for image in list(body.iter("img", "image")):
        _put_words(image)


def frameless(noframes: Element) -> Element:
    """What a page of frames shows to those who see none: text to the parser, but a page to us."""
    return main_body(parse_html("".join(map(str, noframes.itertext()))))


def move_after(place: Element, nodes: list[Element], text: str | None = None) -> None:
    """Put *text* and *nodes*, with their tails, behind *place* and before its tail."""
    tail, place.tail = place.tail, harmless(text or "") or None
    after, parent = place.getnext(), place.getparent()
    for node in nodes:
        if after is not None:
            after.addprevious(node)
        elif parent is not None:
            parent.append(node)
    last = nodes[-1] if nodes else place
    last.tail = harmless((last.tail or "") + (tail or "")) or None


def _end_noscript(noscript: Element) -> None:
    """Let it end where it does for a browser with scripts, to which all in it is text."""
    for raw in noscript.iter(*_RAW_TEXT):
        found = _END_OF_NOSCRIPT.search(raw.text or "")
        if found and raw.text:
            follows = main_body(parse_html(raw.text[found.end() :]))
            raw.text = harmless(raw.text[: found.start()])
            move_after(noscript, list(follows), follows.text)
            return


def _end_svg(svg: Element) -> None:
    """Let it end at the first element that cannot be in it, which is outside with all after it."""
    first = next(_html_in(svg), None)
    if first is None:
        return
    node, outside = first, [first]
    while True:
        outside += node.itersiblings()
        parent = node.getparent()
        assert parent is not None
        if parent is svg:
            break
        # What stands behind a parent is behind all that is in it.
        last = outside[-1]
        last.tail = harmless((last.tail or "") + (parent.tail or "")) or None
        parent.tail = None
        node = parent
    move_after(svg, outside)


def _is_outermost(svg: Element) -> bool:
    around = next(svg.iterancestors("svg", *_HOLD_HTML), None)
    return around is None or around.tag != "svg"


def _html_in(svg: Element) -> Iterator[Element]:
    for element in svg.iter("*"):
        if element.tag in _ENDS_FOREIGN or (element.tag == "font" and element.attrib):
            around = next(element.iterancestors("svg", *_HOLD_HTML))
            if around.tag == "svg":
                yield element


def _keep_words(svg: Element) -> None:
    """Leave of a drawing the words in it."""
    words = [
        element
        for element in svg.iter(*_WORDS_OF_SVG)
        if next(element.iterancestors(*_NOT_DRAWN, *_WORDS_OF_SVG), None) is None
    ]
    for element in words:
        element.tail = " "
        if element.tag == "foreignobject":
            element.tag = "div"
    for child in list(svg):
        svg.remove(child)
    svg.text, svg.tag = None, "span"
    svg.extend(words)


def _put_words(image: Element) -> None:
    """Leave of an image the words that stand for it. Nothing is in it, whatever the parser says."""
    words = short(image.get("alt") or "", 200)
    move_after(image, list(image), image.text)
    image.tag, image.text = "span", f"[{words}]" if words else None

"""A page from the web with nothing in it that does anything: its words, and their order.

Elements and attributes that are known to be harmless stay, all others go: a page that is only
looked at needs neither scripts and images nor addresses. What a browser would block or ask for is
not there, so that it tells nobody and complains of nothing.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from lxml import etree

from tplspider.report.shown_text import harmless, short
from tplspider.web.html import Element, parse_html, top_level

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 1_000_000  # bytes
OWN = "data-own"  # on the elements that are not template

# They go with all that is in them.
_DROPPED = (
    "applet audio canvas head iframe noembed noscript object script style svg template title video"
).split()
# They hold nothing in HTML, but the parser may think that what follows them is inside.
_EMPTY = (
    "area base basefont bgsound embed frame input keygen link map meta param picture source track"
).split()
# They stay, without their attributes but for a few.
_KEPT = frozenset(
    "a abbr address article aside b bdi bdo big blockquote br caption center cite code col colgroup"
    " dd del details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hgroup"
    " hr i ins kbd li main mark menu nav ol p pre q s samp section small span strike strong sub"
    " summary sup table tbody td tfoot th thead time tr tt u ul var wbr".split()
)
_BLOCKS = frozenset("dialog dir fieldset form frameset html legend noframes search".split())
_VERBATIM = frozenset("listing plaintext textarea xmp".split())
_ATTRIBUTES = frozenset("align colspan dir lang rowspan start".split())
_PLAIN_VALUE = re.compile(r"[\w-]{1,20}", re.ASCII)
_MARKED = re.compile(rf"<[^<>]* {OWN}\b")
_OPEN = re.compile(r"<[^<>]*\Z")


def clean_page(html: str, url: str, most: int = MOST, not_template: Iterable[str] = ()) -> str:
    """The body of a page as harmless HTML, of *most* bytes at most, cut with a note.

    *not_template* are the XPaths of the elements that are the page's own: they are marked, as only
    the page as it came has them where the paths say.
    """
    root = parse_html(html)
    own = _own_elements(root, not_template)
    bodies = [body for top in top_level(root) for body in _bodies(top)]
    has_frames = any(next(top.iter("frame"), None) is not None for top in top_level(root))
    cleaned = "\n".join(_clean(body, own) for body in bodies)
    if has_frames:
        cleaned = _note("This page is made of frames, which are left out.") + cleaned
    return _cut(harmless(cleaned), most, url)


def clean_again(key_html: str) -> str:
    """A page that should be clean already, its marks kept: it may come from a file of anybody's."""
    root = parse_html(key_html)
    own = {element for top in top_level(root) for element in top.iter("*") if OWN in element.attrib}
    return harmless(
        "\n".join(_clean(body, own) for top in top_level(root) for body in _bodies(top))
    )


def _own_elements(root: Element, paths: Iterable[str]) -> set[Element]:
    tree = root.getroottree()
    found: set[Element] = set()
    for path in paths:
        try:
            nodes = tree.xpath(path)
        except etree.XPathError:  # of an extractor of somebody's
            continue
        if isinstance(nodes, list):
            found |= {node for node in nodes if isinstance(node, Element)}
    return found


def _bodies(top: Element) -> list[Element]:
    """What is shown of a top-level element: its body, what stands in for one, or all of it."""
    return list(top.iterchildren("body", "frameset", "noframes")) or [top]


def _clean(body: Element, own: set[Element]) -> str:
    etree.strip_tags(body, etree.Comment, etree.ProcessingInstruction, etree.Entity)
    for image in list(body.iter("img", "image")):
        _put_words(image)
    etree.strip_elements(body, *_DROPPED, with_tail=False)
    etree.strip_tags(body, *_EMPTY)
    for element in list(body.iter("*")):
        kept = [(name, str(value)) for name, value in element.items() if name in _ATTRIBUTES]
        element.attrib.clear()
        for name, value in kept:
            if _PLAIN_VALUE.fullmatch(value):
                element.set(name, value)
        if element in own:
            element.set(OWN, "")
        element.tag = _harmless_tag(element, body)
    return str(etree.tostring(body, encoding="unicode", method="html", with_tail=False))


def _harmless_tag(element: Element, body: Element) -> str:
    tag = str(element.tag)
    if element is body or tag in _BLOCKS or tag == "body":
        return "div"
    if tag in _VERBATIM:
        return "pre"
    return tag if tag in _KEPT else "span"


def _put_words(image: Element) -> None:
    """Leave of an image the words that stand for it."""
    words = short(image.get("alt") or "", 200)
    for child in list(image):
        image.remove(child)
    image.tag, image.text = "span", f"[{words}]" if words else None


def _cut(html: str, most: int, url: str) -> str:
    data = html.encode()
    if len(data) <= most:
        return html
    # Attributes are plain words, so a "<" is the start of a tag.
    start = _OPEN.sub("", data[:most].decode("utf-8", "ignore"))
    start = re.sub(r"&\w*\Z", "", start)
    return start + _note(f"The page is cut here: {len(data):,} bytes of {short(url, 200)}.")


def _note(text: str) -> str:
    return f"<p><em>{escape(text)}</em></p>"


WHOLE_STYLE = (
    "html{color-scheme:light}body{background:#fff;color:#1b1f24;font:16px/1.45 sans-serif;margin:1"
    "em;overflow-wrap:anywhere}table{border-collapse:collapse}td,th{padding:0 .3em;vertical-align:"
    "top}pre{white-space:pre-wrap}a{text-decoration:underline}"
)
GREY_STYLE = WHOLE_STYLE + (
    "body{color:#6e6e6e;background:#f2f2f2}[data-own]{color:#1b1f24;background:#fff6cf;outline:1px"
    " solid #d9b400}[data-own] [data-own]{outline:0}"
)


def whole_page(key_html: str) -> str:
    """The document of a frame that shows a cleaned page."""
    return _document(key_html, WHOLE_STYLE, "The page")


def grey_page(key_html: str) -> str:
    """The same with its template greyed out: all but the elements that are its own."""
    return _document(key_html, GREY_STYLE, "The page, its template greyed out")


def has_own_elements(key_html: str) -> bool:
    """Whether it is known which elements of a cleaned page are its own."""
    return bool(_MARKED.search(key_html))


def _document(body: str, style: str, title: str) -> str:
    return (
        f'<!DOCTYPE html><html lang="und"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>{style}</style></head><body>{body}</body></html>"
    )

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

from tplspider.report.browser_tree import as_browsers_read, frameless
from tplspider.report.nesting import DEEPEST, nest_well
from tplspider.report.shown_text import harmless, short
from tplspider.web.html import Element, parse_html, top_level

if TYPE_CHECKING:
    from collections.abc import Iterable

MOST = 1_000_000  # bytes
OWN = "data-own"  # on the elements that are not template
_MARGIN = 10_000  # what notes and tags that a cut left open may add
_PARSED_DEPTH = 2040  # lxml stops at 2048 elements in one another
_FLAT = f"What is nested more than {DEEPEST} elements deep is shown as plain words."

# They go with all that is in them: browsers hide it.
_DROPPED = (
    "annotation annotation-xml audio canvas head iframe noembed noframes script style template"
    " title video"
).split()
# They hold nothing in HTML, but the parser may think that what follows them is inside.
_EMPTY = (
    "area base basefont bgsound col colgroup embed frame input keygen link map meta param picture"
    " source track wbr"
).split()
# They stay, without their attributes but for a few.
_KEPT = frozenset(
    "a abbr address article aside b bdi bdo big blockquote br caption center cite code dd del"
    " details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hgroup"
    " hr i ins kbd li main mark menu nav ol p pre q s samp section small span strike strong sub"
    " summary sup table tbody td tfoot th thead time tr tt u ul var".split()
)
_BLOCKS = frozenset(
    "applet dialog dir fieldset form frameset html legend noscript object option search".split()
)
_VERBATIM = frozenset("listing plaintext textarea xmp".split())
_ATTRIBUTES = frozenset("align colspan dir lang rowspan start".split())
_INHERITED = ("dir", "lang")
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
    has_frames = any(next(top.iter("frame"), None) is not None for top in top_level(root))
    before = _note("This page is made of frames, which are left out.") if has_frames else ""
    return _cut(before + _clean_all(root, own), most, url)


def clean_again(key_html: str) -> str:
    """A page that should be clean already, its marks kept: it may come from a file of anybody's."""
    root = parse_html(key_html)
    own = {element for top in top_level(root) for element in top.iter("*") if OWN in element.attrib}
    return _cut(_clean_all(root, own), MOST + _MARGIN, "")


def _clean_all(root: Element, own: set[Element]) -> str:
    is_cut = _depth_of_end(root) >= _PARSED_DEPTH
    bodies = [body for top in top_level(root) for body in _bodies(top)]
    cleaned = [_clean(body, own) for body in bodies]
    if is_cut:
        cleaned.append(_note("The page is cut here: its elements are nested too deeply."))
    return harmless("\n".join(cleaned))


def _depth_of_end(root: Element) -> int:
    """How deep the last element is: at its limit the parser stops, and says nothing."""
    depth, element = 1, top_level(root)[-1]
    while len(element):
        element, depth = element[-1], depth + 1
    return depth


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
    bodies = list(top.iterchildren("body", "frameset")) or [top]
    for name in _INHERITED:
        if value := top.get(name):
            for body in bodies:
                body.set(name, body.get(name) or value)
    instead = [frameless(text) for text in top.iter("noframes") if _stands_in(text)]
    return bodies + instead


def _stands_in(noframes: Element) -> bool:
    """Whether it is of a page of frames: browsers with frames hide it, and so do we elsewhere."""
    around = noframes.getparent()
    return around is not None and around.tag in ("frameset", "html")


def _clean(body: Element, own: set[Element]) -> str:
    etree.strip_tags(body, etree.Comment, etree.ProcessingInstruction, etree.Entity)
    as_browsers_read(body)
    etree.strip_elements(body, *_DROPPED, with_tail=False)
    etree.strip_tags(body, *_EMPTY)
    for element in list(body.iter("*")):
        kept = [(name, str(value)) for name, value in element.items() if name in _ATTRIBUTES]
        is_open = element.tag == "details" and "open" in element.attrib
        element.attrib.clear()
        for name, value in kept:
            if _PLAIN_VALUE.fullmatch(value):
                element.set(name, value)
        if is_open:
            element.set("open", "")
        if element in own:
            element.set(OWN, "")
        element.tag = _harmless_tag(element, body)
    is_flat = nest_well(body)
    cleaned = str(etree.tostring(body, encoding="unicode", method="html", with_tail=False))
    return cleaned + _note(_FLAT) if is_flat else cleaned


def _harmless_tag(element: Element, body: Element) -> str:
    tag = str(element.tag)
    if element is body or tag in _BLOCKS or tag == "body":
        return "div"
    if tag in _VERBATIM:
        return "pre"
    return tag if tag in _KEPT else "span"


def _cut(html: str, most: int, url: str) -> str:
    data = html.encode()
    if len(data) <= most:
        return html
    # Attributes are plain words, so a "<" is the start of a tag.
    start = _OPEN.sub("", data[:most].decode("utf-8", "ignore"))
    start = re.sub(r"&\w*\Z", "", start)
    of = f" of {short(url, 200)}" if url else ""
    return start + _note(f"The page is cut here: it has {len(data):,} bytes{of}.")


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

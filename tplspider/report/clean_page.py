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

from tplspider.report.words import harmless, short
from tplspider.web.html import Element, main_body, parse_html, top_level

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# A tree of lxml's, put right where a browser's would be another and words would be lost.
#
# lxml leaves what follows an unclosed ``<svg>`` or ``<image>`` inside of it. The rules are those of
# HTML (https://html.spec.whatwg.org/multipage/parsing.html). Scripts are off and nothing is loaded,
# so that what stands in for a script or an object is part of the page.

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


# Elements nested so that a browser takes them as they are.
#
# HTML that is not nested as its rules want it is rearranged by whoever reads it: an element that
# must not be in another ends it, and the bold and italic that were open begin anew, again and
# again, so that a few kilobytes can keep a browser busy for minutes.

DEEPEST = 200  # elements in one another; those of the web have 60 at most

_ENDING_PARAGRAPHS = frozenset(
    "address article aside blockquote center dd details div dl dt figcaption figure footer h1 h2 h3"
    " h4 h5 h6 header hgroup hr li main menu nav ol p pre section summary table ul".split()
)
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_GROUPS = ("thead", "tbody", "tfoot")
_PARENTS = {
    "li": ("ul", "ol", "menu"),
    "dt": ("dl",),
    "dd": ("dl",),
    "summary": ("details",),
    "caption": ("table",),
    "thead": ("table",),
    "tbody": ("table",),
    "tfoot": ("table",),
    "tr": ("table", *_GROUPS),
    "td": ("tr",),
    "th": ("tr",),
}
_OF_TABLES = ("table", "tr", *_GROUPS)


def nest_well(body: Element) -> bool:
    """Rename what stands where it must not; says whether something too deep was made flat."""
    is_flat = _flatten(body)
    for element in body.iter("*"):  # from above: parents have their names already
        parent = element.getparent()
        if parent is not None and element is not body:
            element.tag = _well_nested(str(element.tag), str(parent.tag), element)
    _move_out_of_tables(body)
    for paragraph in list(body.iter("p")):
        if any(
            inner is not paragraph and inner.tag in _ENDING_PARAGRAPHS
            for inner in paragraph.iter("*")
        ):
            paragraph.tag = "div"
    return is_flat


def _well_nested(tag: str, parent: str, element: Element) -> str:
    if tag in _PARENTS:
        return tag if parent in _PARENTS[tag] else "div"
    if tag == "table" and parent in _OF_TABLES:
        return "div"
    if tag in _HEADINGS and parent in _HEADINGS:
        return "span"
    if tag == "a" and next(element.iterancestors("a"), None) is not None:
        return "span"
    return tag


def _move_out_of_tables(body: Element) -> None:
    """Put what is neither row nor cell before the table, where browsers put it."""
    for element in list(body.iter(*_OF_TABLES)):
        table = element if element.tag == "table" else next(element.iterancestors("table"))
        for child in list(element):
            if element.tag not in _PARENTS.get(str(child.tag), ()):
                table.addprevious(child)


def _flatten(body: Element) -> bool:
    """Leave the words alone of what is nested too deeply."""
    deepest, depth = [], 0
    for event, element in etree.iterwalk(body, events=("start", "end"), tag="*"):
        depth += 1 if event == "start" else -1
        if event == "start" and depth == DEEPEST and len(element):
            deepest.append(element)
    for element in deepest:
        words = harmless(" ".join(map(str, element.itertext())))
        for child in list(element):
            element.remove(child)
        element.text = words
    return bool(deepest)


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

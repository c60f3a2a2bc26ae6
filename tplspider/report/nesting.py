"""Elements nested so that a browser takes them as they are.

HTML that is not nested as its rules want it is rearranged by whoever reads it: an element that must
not be in another ends it, and the bold and italic that were open begin anew, again and again, so
that a few kilobytes can keep a browser busy for minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from tplspider.report.shown_text import harmless

if TYPE_CHECKING:
    from tplspider.web.html import Element

DEEPEST = 200  # elements in one another; those of the web have 60 at most

_BLOCKS = frozenset(
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
        if any(inner is not paragraph and inner.tag in _BLOCKS for inner in paragraph.iter("*")):
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

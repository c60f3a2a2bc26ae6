"""The labels of a key page in the format of the TECO suite: how they are read and taken off.

The elements that are not template carry the class ``TECO_notTemplate``, what encloses the page's
main text ``TECO_mainContent``, its menu ``TECO_mainMenu`` (arXiv 1409.6182). They are taken off the
file's bytes, not its tree: writing a tree down again would change more than the labels.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape

from w3lib.encoding import read_bom

from tplspider.web.html import UNCOUNTED, Element, find_all, main_body

NOT_TEMPLATE, MAIN_CONTENT = "teco_nottemplate", "teco_maincontent"

_LABEL = re.compile(r"teco_\w+", re.IGNORECASE)
# A page is looked at as HTML says it is tokenized, and byte by byte: re's own \s takes parts of
# letters in UTF-8 for white space.
_SPACE = r"[ \t\n\r\f]"
_COMMENT_OR_TAG = re.compile(
    r"<!--(?:-?>|.*?--!?>|.*)|<(?P<tag>[a-z][^ \t\n\r\f/>]*+)", re.IGNORECASE | re.DOTALL
)
_ATTRIBUTE = re.compile(
    rf"""[ \t\n\r\f/]*+ (?P<name> =?[^ \t\n\r\f/>=]++ | = )
    (?: {_SPACE}*+ = {_SPACE}*+
        (?: "(?P<double>[^"]*+)" | '(?P<single>[^']*+)' | (?P<bare>[^ \t\n\r\f>]*+) )
    )?+""",
    re.VERBOSE,
)
_GAP = re.compile(
    rf"(?:{_SPACE}|&\#(?:0*(?:9|10|12|13|32)|x0*(?:9|a|c|d|20))(?![0-9a-f]);?|&(?:Tab|NewLine);)+",
    re.IGNORECASE,
)
_MAY_BE_LABELLED = re.compile(r"teco_|class[^<>]*&", re.IGNORECASE)
_NO_MARKUP_INSIDE = frozenset("iframe noembed noframes script style textarea title xmp".split())


@dataclass(frozen=True)
class Labels:
    """What the labels of a page say, by the number of an element in document order.

    Only *counted* elements matter: those of ``body``, itself included, outside script, style and
    noscript. *main_content* holds the outermost of the elements that enclose the main text.
    """

    counted: frozenset[int]
    template: frozenset[int]
    main_content: frozenset[int]


def number_elements(root: Element) -> dict[Element, int]:
    """The elements of a page, numbered in document order."""
    return {element: number for number, element in enumerate(find_all(root, "*"))}


def labels_of(element: Element) -> set[str]:
    """The labels of an element, in lower case."""
    labels = map(_LABEL.match, (element.get("class") or "").split())
    return {label[0].lower() for label in labels if label}


def read_labels(root: Element) -> Labels:
    """Which elements of a labelled page count, are template, and enclose the main text.

    What is inside an element that is not template is not template either.
    """
    numbers = number_elements(root)
    body = main_body(root)
    uncounted: set[Element | None] = set()
    other: set[Element | None] = set()
    main: set[Element | None] = set()
    for ancestor in body.iterancestors():
        if NOT_TEMPLATE in labels_of(ancestor):
            other.add(body.getparent())
    counted, template, outermost = set(), set(), set()
    for element in body.iter("*"):
        parent = element.getparent()
        labels = labels_of(element)
        if element.tag in UNCOUNTED or parent in uncounted:
            uncounted.add(element)
            continue
        counted.add(numbers[element])
        if NOT_TEMPLATE in labels or parent in other:
            other.add(element)
        else:
            template.add(numbers[element])
        if MAIN_CONTENT in labels or parent in main:
            main.add(element)
            if parent not in main:
                outermost.add(numbers[element])
    return Labels(frozenset(counted), frozenset(template), frozenset(outermost))


def without_labels(page: bytes) -> bytes:
    """The page as it was before it was labelled; the same bytes where it carries no label."""
    encoding, bom = read_bom(page)
    if encoding is None or bom is None or encoding == "utf-8":
        encoding, bom = "latin-1", b""  # whatever it is, its markup is ASCII
    try:
        html = page[len(bom) :].decode(encoding, "surrogatepass")
    except UnicodeDecodeError:
        return page
    if not _MAY_BE_LABELLED.search(html):
        return page
    return bom + _clean(html).encode(encoding, "surrogatepass")


def _clean(html: str) -> str:
    """HTML without the labels in the class attributes of its tags."""
    parts = []
    copied = place = 0
    while found := _COMMENT_OR_TAG.search(html, place):
        place = found.end()
        tag = (found["tag"] or "").lower()
        while tag and (attribute := _ATTRIBUTE.match(html, place)):
            place = attribute.end()
            if attribute["name"].lower() == "class":
                parts += [html[copied : attribute.start()], _clean_class(attribute)]
                copied = place
        if tag in _NO_MARKUP_INSIDE:
            end = re.compile(f"</{tag}", re.IGNORECASE).search(html, place)
            place = end.start() if end else len(html)
    return "".join([*parts, html[copied:]])


def _clean_class(attribute: re.Match[str]) -> str:
    """A class attribute without its labels, and nothing where it had no other class."""
    kind = attribute.lastgroup
    if kind in (None, "name"):
        return attribute[0]
    names = _GAP.split(attribute[kind])
    kept = [name for name in names if not _LABEL.match(unescape(name))]
    if len(kept) == len(names):
        return attribute[0]
    if value := ("&#32;" if kind == "bare" else " ").join(filter(None, kept)):
        start, end = (place - attribute.start() for place in attribute.span(kind))
        return attribute[0][:start] + value + attribute[0][end:]
    after = attribute.string[attribute.end() : attribute.end() + 1]
    return "" if after in " \t\n\r\f/>" else " "  # "" is in every string, the end of the page too

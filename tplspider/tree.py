"""The tree of a page, as lxml's HTML parser makes it, and the texts in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lxml import etree
from parsel import Selector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Element = etree._Element  # noqa: SLF001 - lxml has no public name for the type of its elements


def parse_html(html: str) -> Element:
    """The tree of an HTML page (parsel alone would take one that starts with ``<?xml`` for XML)."""
    return cast("Element", Selector(text=html, type="html").root)


def fold(text: str) -> str:
    """*text* with every run of white space folded into one space."""
    return " ".join(text.split())


def find_all(root: Element, *tags: str) -> Iterator[Element]:
    """The elements with one of *tags*, in document order, from the whole document.

    A page that closes ``</html>`` before its ``<body>`` has several top-level elements.
    """
    top = root.getroottree().getroot()
    first = next(reversed([top, *top.itersiblings(preceding=True)]))
    for element in (first, *first.itersiblings()):
        yield from element.iter(*tags)


def string_xpath(expression: str) -> Callable[[Element], str]:
    """An XPath expression whose value is a string."""
    return cast("Callable[[Element], str]", etree.XPath(expression, smart_strings=False))


def strings_xpath(expression: str) -> Callable[[Element], list[str]]:
    """An XPath expression whose value is a list of texts or attributes."""
    return cast("Callable[[Element], list[str]]", etree.XPath(expression, smart_strings=False))


_HIDDEN = ("script", "style", "noscript", "template")
_TEXT = strings_xpath("//text()")
_VISIBLE_TEXT = strings_xpath(
    "//text()[not(ancestor::script | ancestor::style | ancestor::noscript | ancestor::template)]"
)


def visible_text(root: Element) -> str:
    """Every text node outside script, style, noscript and template; white space folded."""
    nodes = _TEXT(root)
    hidden = [
        text
        for element in find_all(root, *_HIDDEN)
        if next(element.iterancestors(*_HIDDEN), None) is None
        for text in element.itertext()
        if not text.isspace()
    ]
    if hidden:
        # Asking every node for its ancestors is slow. Taking out what reads like a hidden text is
        # as good, as long as no visible text reads the same.
        texts = frozenset(hidden)
        visible = [text for text in nodes if text not in texts]
        exact = len(nodes) - len(visible) == len(hidden)
        nodes = visible if exact else _VISIBLE_TEXT(root)
    return fold(" ".join(nodes))

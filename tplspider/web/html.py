"""The tree of a page, as lxml's HTML parser makes it, and the texts in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_EMPTY = b"<html/>"

Element = etree._Element  # noqa: SLF001 - lxml has no public name for the type of its elements


def parse_html(html: str) -> Element:
    """The tree of an HTML page, the same that parsel makes (and Scrapy's selectors).

    By lxml's plain HTML parser, though: that of ``lxml.html`` calls Python code for every element
    that is looked at. And a page that starts with ``<?xml`` is HTML all the same.
    """
    # No encoding has lone surrogates: they become question marks.
    body = html.strip().replace("\0", "").encode("utf-8", "replace") or _EMPTY
    root = etree.fromstring(body, _parser())
    return etree.fromstring(_EMPTY, _parser()) if root is None else root


def _parser() -> etree.HTMLParser:
    return etree.HTMLParser(recover=True, encoding="utf-8", huge_tree=True, collect_ids=False)


def fold(text: str) -> str:
    """*text* with every run of white space folded into one space."""
    # What can be printed has no white space but spaces: most texts are folded but for their ends.
    bare = text.strip()
    return bare if bare.isprintable() and "  " not in bare else " ".join(bare.split())


def top_level(root: Element) -> list[Element]:
    """The top-level elements of a document: several if ``</html>`` stands before the ``<body>``."""
    top = root.getroottree().getroot()
    return [*reversed(list(top.itersiblings("*", preceding=True))), top, *top.itersiblings("*")]


def find_all(root: Element, *tags: str) -> Iterator[Element]:
    """The elements with one of *tags*, in document order, from the whole document."""
    for top in top_level(root):
        yield from top.iter(*tags)


def main_body(root: Element) -> Element:
    """The ``body`` of a page, the root if there is none.

    Of several, after a misplaced ``</html>``, the largest.
    """
    bodies = [child for top in top_level(root) for child in top.iterchildren("body")]
    if len(bodies) < 2:
        return bodies[0] if bodies else root
    return max(bodies, key=lambda body: sum(1 for _ in body.iter()))


def string_xpath(expression: str) -> Callable[[Element], str]:
    """An XPath expression whose value is a string."""
    return cast("Callable[[Element], str]", etree.XPath(expression, smart_strings=False))


def strings_xpath(expression: str) -> Callable[[Element], list[str]]:
    """An XPath expression whose value is a list of texts or attributes."""
    return cast("Callable[[Element], list[str]]", etree.XPath(expression, smart_strings=False))


_HIDDEN = ("script", "style", "noscript", "template")
_TEXT = strings_xpath("//text()")
_TEXT_WITH_PARENTS = etree.XPath("//text()")


def visible_text(root: Element) -> str:
    """Every text node outside script, style, noscript and template; white space folded."""
    return fold(" ".join(visible_texts(root)))


def visible_texts(root: Element) -> list[str]:
    """Every text node outside script, style, noscript and template, as it stands there."""
    nodes = _TEXT(root)
    hidden = [
        element
        for element in find_all(root, *_HIDDEN)
        if next(element.iterancestors(*_HIDDEN), None) is None
    ]
    if hidden:
        # Asking every node for its parents is slow. Taking out what reads like a hidden text is as
        # good, as long as no visible text reads the same.
        texts = [text for element in hidden for text in element.itertext() if not text.isspace()]
        taken_out = frozenset(texts)
        visible = [text for text in nodes if text not in taken_out]
        exact = len(nodes) - len(visible) == len(texts)
        nodes = visible if exact else _text_outside(root, hidden)
    return nodes


def _text_outside(root: Element, hidden: list[Element]) -> list[str]:
    """The text nodes that are in none of the *hidden* elements."""
    inside = {inner for element in hidden for inner in element.iter()}
    nodes: Any = _TEXT_WITH_PARENTS(root)
    return [
        node
        for node in nodes
        if (node.getparent().getparent() if node.is_tail else node.getparent()) not in inside
    ]

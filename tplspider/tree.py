"""The tree of a page, as lxml's HTML parser makes it, and the texts in it."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, cast

from lxml import etree
from parsel import Selector

if TYPE_CHECKING:
    from collections.abc import Callable

Element = etree._Element  # noqa: SLF001 - lxml has no public name for the type of its elements


def parse_html(html: str) -> Element:
    """The tree of an HTML page (parsel alone would take one that starts with ``<?xml`` for XML)."""
    return cast("Element", Selector(text=html, type="html").root)


def fold(text: str) -> str:
    """*text* with every run of white space folded into one space."""
    return " ".join(text.split())


def string_xpath(expression: str) -> Callable[[Element], str]:
    """An XPath expression whose value is a string."""
    return cast("Callable[[Element], str]", etree.XPath(expression, smart_strings=False))


def strings_xpath(expression: str) -> Callable[[Element], list[str]]:
    """An XPath expression whose value is a list of texts or attributes."""
    return cast("Callable[[Element], list[str]]", etree.XPath(expression, smart_strings=False))


def visible_text(root: Element) -> str:
    """Every text node outside script, style, noscript and template; white space folded."""
    return fold(" ".join(_text_nodes(tuple(tag for tag in _HIDDEN if _has(tag)(root)))(root)))


_HIDDEN = ("script", "style", "noscript", "template")


@cache
def _has(tag: str) -> etree.XPath:
    return etree.XPath(f"boolean(//{tag})")


@cache
def _text_nodes(hidden: tuple[str, ...]) -> Callable[[Element], list[str]]:
    """All text nodes outside the *hidden* elements: those that the page has, tests being dear."""
    # Script and style hold nothing but text; the two others may hold elements.
    inside = " | ".join(
        f"{'parent' if tag in ('script', 'style') else 'ancestor'}::{tag}" for tag in hidden
    )
    return strings_xpath(f"//text()[not({inside})]" if inside else "//text()")

"""What stands around a part of a page and makes it what it is: the table of a row, the list of an
entry, what names the language of code. Taken out of its page, a part needs it still.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import takewhile
from typing import TYPE_CHECKING

from lxml import etree

from tplspider.template.code_blocks import names_language

if TYPE_CHECKING:
    from tplspider.web.html import Element

_LISTS = ("menu", "ol", "ul")
# The elements that cannot stand alone, and those that they are in, at some distance.
_OUTSIDE: dict[str, tuple[str, ...]] = {
    **dict.fromkeys("caption col colgroup tbody td tfoot th thead tr".split(), ("table",)),
    "li": _LISTS,
    "dd": ("dl",),
    "dt": ("dl",),
}
_AROUND_CODE = frozenset({"code", "div", "figure", "pre", "section"})
_NEAR = 3  # elements around code, or its table, that may name its language


def shells_of(part: Element) -> list[Element]:
    """The elements around a part without which it is not what it is, the outermost first."""
    around = list(part.iterancestors())
    shells: list[Element] = []
    if outside := _OUTSIDE.get(str(part.tag)):
        place = next((n for n, outer in enumerate(around) if outer.tag in outside), -1)
        shells = around[: place + 1]
    if next(part.iter("pre"), None) is not None:
        rest = around[len(shells) : len(shells) + _NEAR]
        near = list(takewhile(lambda outer: outer.tag in _AROUND_CODE, rest))
        named = next((n for n, outer in enumerate(near) if names_language(outer)), -1)
        shells += near[: named + 1]
    return shells[::-1]


def start_tag(element: Element) -> str:
    """The start tag of an element, as it is written."""
    try:
        bare = etree.Element(element.tag)
    except ValueError:  # a tag that HTML may have, and lxml takes from its parser alone: o:p
        bare = etree.Element("span")
    for name, value in element.items():
        with suppress(ValueError):  # in the same way: @click
            bare.set(name, value)
    whole = str(etree.tostring(bare, encoding="unicode", method="html"))
    start = whole.removesuffix(f"</{bare.tag}>")
    return f"<{element.tag}{start[len(bare.tag) + 1 :]}"

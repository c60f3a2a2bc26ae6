"""The parts of a key page that are its own: elements, and texts that stand loose between others."""

from __future__ import annotations

from html import escape
from itertools import takewhile
from typing import TYPE_CHECKING

from lxml import etree

from tplspider.template.part_shells import shells_of, start_tag
from tplspider.template.text_lines import BLOCKS, CELLS

if TYPE_CHECKING:
    from tplspider.template.flat_page import FlatPage
    from tplspider.web.html import Element

    Part = Element | str

TAKEN_OUT = "TAKEN-OUT"  # no element of a page has such a name: the parser makes it lower case


def own_parts(page: FlatPage, elements: list[int], loose: list[int]) -> list[Part]:
    """Some elements, and the texts directly inside some others, in document order."""
    if not loose:
        return [page.elements[element] for element in elements]
    places: list[tuple[float, int, Part]] = [(n, 0, page.elements[n]) for n in elements]
    for outer in loose:
        children = {page.elements[number]: number for number in page.children[outer]}
        place: float = outer
        texts = [(place + 0.5, page.elements[outer].text)]
        for child in page.elements[outer]:
            if child in children:
                place = page.ends[children[child]] - 1
            texts.append((place + 0.5, child.tail))
        # A text after an element comes after those in it, which may have the same place.
        places += [(where, -outer, text) for where, text in texts if text and not text.isspace()]
    return [part for *_, part in sorted(places, key=lambda part: part[:2])]


def parts_html(parts: list[Part]) -> str:
    """Parts as HTML, a line each; inline elements that touch stay together, as in the text.

    Rows are in their table, entries in their list, as far as these are around them on the page.
    """
    written: list[str] = []
    around: list[Element] = []
    for before, part in zip([None, *parts], parts, strict=False):
        touches = (
            not isinstance(before, str | None)
            and not isinstance(part, str)
            and before.getnext() is part
            and not before.tail
            and {before.tag, part.tag}.isdisjoint(BLOCKS | CELLS)
        )
        shells = [] if isinstance(part, str) else shells_of(part)
        pairs = zip(around, shells, strict=False)
        same = sum(1 for _ in takewhile(lambda pair: pair[0] is pair[1], pairs))
        written += [f"</{shell.tag}>" for shell in reversed(around[same:])]
        written.append("" if touches or before is None else "\n")
        written += [*map(start_tag, shells[same:]), part_html(part)]
        around = shells
    return "".join([*written, *(f"</{shell.tag}>" for shell in reversed(around))])


def part_html(part: Part) -> str:
    """A part as HTML."""
    if isinstance(part, str):
        return escape(part.strip(), quote=False)
    return str(etree.tostring(part, encoding="unicode", method="html", with_tail=False))


def without_parts(page: FlatPage, elements: list[int], loose: list[int]) -> str:
    """The page without these parts, which are taken out of its tree.

    The text after an element is its parent's and stays, unless it is one of the loose.
    """
    for outer in loose:
        page.elements[outer].text = None
        for child in page.elements[outer]:
            child.tail = None
    for element in elements:
        page.elements[element].tag = TAKEN_OUT
    etree.strip_elements(page.elements[0], TAKEN_OUT, with_tail=False)
    tree = page.elements[0].getroottree()
    html = str(etree.tostring(tree, encoding="unicode", method="html"))
    # A page that closes </html> too early has several top-level elements.
    return "\n".join([html, *map(part_html, tree.getroot().itersiblings("*"))])

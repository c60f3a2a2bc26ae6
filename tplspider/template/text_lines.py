"""The text of a page or of parts of it, as lines: a block is a line, as a reader sees it.

An inline element never ends a line, whether or not it is one of the parts.
"""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

from lxml import etree

from tplspider.web.html import Element, NodeTexts, fold, read_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tplspider.template.flat_page import FlatPage

BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset"
    " figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p"
    " pre section summary table tbody tfoot thead title tr ul".split()
)
CELLS = frozenset({"td", "th"})
_HIDDEN = frozenset({"script", "style", "noscript", "template"})
_PREFORMATTED = frozenset({"pre", "textarea"})
_COMMENTS = frozenset({etree.Comment, etree.ProcessingInstruction, etree.Entity})

# All of that at once, since it is asked for twice of each node: what a tag is, as bits; and whether
# a node is one of the parts, or of what is left out of them.
_BLOCK, _CELL, _IS_HIDDEN, _WRITTEN, _COMMENT, _PART, _LEFT_OUT = (1 << bit for bit in range(7))
_SETS = ((BLOCKS, _BLOCK), (CELLS, _CELL), (_HIDDEN, _IS_HIDDEN), (_PREFORMATTED, _WRITTEN))
_KINDS: dict[Any, int] = dict.fromkeys(_COMMENTS, _COMMENT)
for _tags, _bit in _SETS:
    for _tag in _tags:
        _KINDS[_tag] = _KINDS.get(_tag, 0) | _bit


def text_lines(element: Element) -> list[str]:
    """The visible text of an element, without empty lines; text in ``pre`` keeps its own lines."""
    return lines_of_parts(read_nodes(list(element.iter())), [0])


def lines_of_parts(  # noqa: PLR0912, PLR0915 - one walk, of a page that may be large
    nodes: NodeTexts,
    parts: Iterable[int],
    loose: Iterable[int] = (),
    without: Iterable[int] = (),
) -> list[str]:
    """The text of some of the nodes: whole elements, and the words directly in *loose* ones.

    What is in elements of *without* is left out. Where words are left out, the line ends.
    """
    parts, loose, without = {*parts}, {*loose}, {*without}
    lines: list[str] = []
    line: list[str] = []
    hidden = preformatted = inside = 0

    def end_line() -> None:
        if text := fold("".join(line)):
            lines.append(text)
        line.clear()

    def end_written_line() -> None:
        if written := "".join(line).rstrip():
            lines.append(written)
        line.clear()

    def add(text: str, holder: int) -> None:
        if hidden:
            return
        if not inside and holder not in loose:
            if text.isspace():
                line.append(text)
            else:
                end_line()
        elif preformatted:
            first, *rest = text.split("\n")
            line.append(first)
            for text_line in rest:
                end_written_line()
                line.append(text_line)
        else:
            line.append(text)

    # What most of the texts are, words of a part, is added in the walk itself.
    above, tails = nodes.parents, nodes.written_tails
    kinds = list(map(_KINDS.get, nodes.tags, repeat(0)))
    for marked, mark in ((parts, _PART), (without, _LEFT_OUT)):
        for place in marked:
            kinds[place] |= mark
    around = _around(above, parts | loose)
    skipped = len(kinds)  # nothing is taken of what is in this one
    top = -1  # the last node that is still open
    # After the last node one that is in none of them.
    for place, (parent, kind, text) in enumerate(
        zip(chain(above, (-1,)), chain(kinds, (0,)), chain(nodes.written_texts, ("",)), strict=True)
    ):
        if parent >= skipped:
            continue
        while top != parent:
            if closing := kinds[top]:
                if closing & _WRITTEN:
                    end_written_line()
                    preformatted -= 1
                elif closing & _IS_HIDDEN:
                    hidden -= 1
                hidden -= closing & _LEFT_OUT != 0
                inside -= closing & _PART != 0
                if line and closing & _BLOCK:
                    end_line()
            tail, top = tails[top], above[top]
            if tail and top >= 0:  # what is after the first is not in it
                if inside and not hidden and not preformatted:
                    line.append(tail)
                else:
                    add(tail, top)
        if place == len(kinds):
            break
        top = place
        skipped = len(kinds)
        if kind:
            if kind & _BLOCK:
                if line:
                    end_line()
                if not inside and place not in around:
                    skipped = place  # it ends a line, and that is all
            elif kind & _CELL:
                line.append(" ")
            preformatted += kind & _WRITTEN != 0
            hidden += (kind & _IS_HIDDEN != 0) + (kind & _LEFT_OUT != 0)
            inside += kind & _PART != 0
        if text and not kind & _COMMENT:
            if inside and not hidden and not preformatted:
                line.append(text)
            else:
                add(text, place)
    end_line()
    return lines


def lines_of_elements(
    page: FlatPage, parts: Iterable[int], loose: Iterable[int] = (), without: Iterable[int] = ()
) -> list[str]:
    """The same of the elements of a page, by their numbers."""
    place = page.places.__getitem__
    return lines_of_parts(page.written, map(place, parts), map(place, loose), map(place, without))


def _around(parents: list[int], parts: set[int]) -> set[int]:
    """The nodes that have one of these in them, and these."""
    found = {*parts}
    for part in parts:
        place = parents[part]
        while place >= 0 and place not in found:
            found.add(place)
            place = parents[place]
    return found

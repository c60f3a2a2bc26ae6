"""The main part of a page: what a reader came for, within what is not template.

What is not template is known by evidence. Within it, the main part is where the running text is;
beside it stand leftovers, which the page has for getting about: a breadcrumb, the pages before and
after, its own contents, tags. Where a page is a list of links, those are what it is about.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import compress, count
from operator import not_
from typing import TYPE_CHECKING

from lxml import etree

from tplspider.template.content import TAKEN_OUT, own_parts, parts_html
from tplspider.template.hidden_parts import hidden_elements
from tplspider.template.main_element import kind_of, main_element, outermost_outside
from tplspider.template.page_lines import Line, lines_in
from tplspider.template.text_lines import lines_of_elements

if TYPE_CHECKING:
    from tplspider.template.flat_page import FlatPage

SHORT = 100  # letters and digits: what has fewer of them beside the main part is a leftover
LINK_WEIGHT = 0.2  # of text in links, where there is other text

_WORD = re.compile(r"\w")
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())


@dataclass(slots=True)
class MainPart:
    """The main part of a page: elements, words directly in others, and what is left out."""

    page: FlatPage
    elements: list[int]
    loose: list[int]
    without: list[int] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Its text."""
        return lines_of_elements(self.page, self.elements, self.loose, self.without)

    def take_html(self) -> str:
        """Its HTML; what is left out is taken out of the tree."""
        parts = own_parts(self.page, self.elements, self.loose)
        for number in self.without:
            self.page.elements[number].tag = TAKEN_OUT
        etree.strip_elements(self.page.elements[0], TAKEN_OUT, with_tail=False)
        return parts_html(parts)


def find_main_part(
    page: FlatPage,
    page_lines: list[Line],
    template: list[bool],
    loose: list[int],
    data: list[int],
) -> MainPart:
    """The main part, given what is template and which parts are *data* with a common label."""
    words_of_own = {*loose}
    lines = [
        line
        for line, known in zip(page_lines, lines_in(page_lines, template), strict=True)
        if not known or not words_of_own.isdisjoint(line.elements)
    ]
    own = list(compress(count(), map(not_, template)))
    hidden = hidden_elements(page, [*own, *loose], lines)
    if hidden:
        lines = [line for line in lines if not hidden.issuperset(line.elements)]
        words_of_own -= hidden
    leftovers = _leftovers(page, lines, data)
    kept = _kept(page, lines, leftovers, template)
    dropped = [0] * len(template)
    for line, leftover in zip(lines, leftovers, strict=True):
        if leftover:
            for element in line.elements:
                dropped[element] = 1
    words_of_own -= {n for n in loose if dropped[n] and not kept[n]}
    if any(leftovers):
        dropped = _sums(page, dropped)
    elements, without = [], []
    for element in own:
        parent = page.parents[element]
        gone = (
            element in hidden
            or (dropped[element] and not kept[element])
            or (page.links[element] and _is_pilcrow(page, element))
        )
        if template[parent] and not gone:
            elements.append(element)
        elif gone and not template[parent]:
            without.append(element)
    return MainPart(page, elements, sorted(words_of_own), without)


def _kept(
    page: FlatPage, lines: list[Line], leftovers: list[bool], template: list[bool]
) -> list[bool]:
    """Of each element, whether something in it is kept; lines are kept or left out as a whole.

    Words of a leftover beside others that are kept cannot be left out: they would leave half a
    line behind.
    """
    kept = [False] * len(template)
    held: dict[int, list[int]] = {}  # by element, leftovers with words in it
    for n, leftover in enumerate(leftovers):
        if leftover:
            for element in lines[n].elements:
                held.setdefault(element, []).append(n)
    waiting = [
        element
        for line, leftover in zip(lines, leftovers, strict=True)
        if not leftover
        for element in line.elements
    ]
    while waiting:
        element = waiting.pop()
        if kept[element]:
            continue
        kept[element] = True
        for n in held.get(element, ()):
            waiting += lines[n].elements
        if not template[element] and not template[page.parents[element]]:
            waiting.append(page.parents[element])
    return kept


def _leftovers(page: FlatPage, lines: list[Line], data: list[int]) -> list[bool]:
    """Of each line of the page's own, whether it is a leftover."""
    sizes = [line.letters for line in lines]
    in_links = sum(size * line.linked for size, line in zip(sizes, lines, strict=True))
    is_list = 2 * in_links > sum(sizes)
    weights = [
        size if is_list else size * (1 - (1 - LINK_WEIGHT) * line.linked)
        for size, line in zip(sizes, lines, strict=True)
    ]
    start, end = main_element(page, lines, weights)
    leftover = _contents(page, lines, sizes, data)
    outside: dict[int, float] = {}  # by part, how much there is in it that is not a leftover
    linked: dict[int, float] = {}
    parts = [outermost_outside(page, line.elements[0], start, end) for line in lines]
    for n, part in enumerate(parts):
        if not leftover[n]:
            outside[part] = outside.get(part, 0) + weights[n]
            linked[part] = linked.get(part, 0) + weights[n] * lines[n].linked
    for n, part in enumerate(parts):
        if leftover[n] or part < 0 or outside[part] >= SHORT:
            continue
        # Beside a list, some words may introduce it. A heading is that of what comes after it:
        # after the main part, that of leftovers.
        if is_list and 2 * linked[part] <= outside[part]:
            continue
        leftover[n] = part > start or not _in_heading(page, lines[n])
    if is_list:
        return leftover
    main = [n for n, part in enumerate(parts) if part < 0]
    texts = [n for n in main if lines[n].linked < 0.5]
    if not texts:
        return leftover
    edges = [n for n in main if n < texts[0]], [n for n in main if n > texts[-1]]
    short = [n for edge in edges if sum(sizes[n] for n in edge) < SHORT for n in edge]
    if short:
        # Links of the kind that stands among the texts, too, are entries of a list.
        entries = {_place(page, lines[n]) for n in main if texts[0] < n < texts[-1]}
        for n in short:
            own = _in_heading(page, lines[n]) or _place(page, lines[n]) in entries
            leftover[n] = leftover[n] or not own
    return leftover


def _place(page: FlatPage, line: Line) -> tuple[object, ...]:
    """What a line stands in: its element and the one around it, by tag and class."""
    element = line.elements[0]
    return line.linked >= 0.5, kind_of(page, element), kind_of(page, max(page.parents[element], 0))


def _contents(page: FlatPage, lines: list[Line], sizes: list[int], data: list[int]) -> list[bool]:
    """Of each line, whether it is labelled data, or one of a row of links to places on the page."""
    leftover = [False] * len(lines)
    for element in data:
        inside = [
            n for n, line in enumerate(lines) if element <= line.elements[0] < page.ends[element]
        ]
        if sum(sizes[n] for n in inside) < 0.3 * sum(sizes):
            for n in inside:
                leftover[n] = True
    for n, line in enumerate(lines):
        if line.link.startswith("self?#") and len(line.link) > 6:
            near = lines[max(n - 1, 0) : n + 2]
            leftover[n] = leftover[n] or sum(o.link.startswith("self?#") for o in near) > 1
    return leftover


def _in_heading(page: FlatPage, line: Line) -> bool:
    element = line.elements[0]
    while element >= 0:
        if page.tags[element] in _HEADINGS:
            return True
        element = page.parents[element]
    return False


def _is_pilcrow(page: FlatPage, element: int) -> bool:
    """Whether an element is a link to a place on the page, without a word."""
    return page.links[element].startswith("self?#") and not any(
        _WORD.search(text) for text in page.texts[element : page.ends[element]]
    )


def _sums(page: FlatPage, values: list[int]) -> list[int]:
    """Of each element, the sum of the values in its subtree."""
    sums = values[:]
    for element in range(len(sums) - 1, 0, -1):
        sums[page.parents[element]] += sums[element]
    return sums

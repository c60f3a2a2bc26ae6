"""The main part of a page: what a reader came for, within what is not template.

What is not template is known by evidence. Within it, the main part is where the running text is;
beside it stand leftovers, which the page has for getting about: a breadcrumb, the pages before and
after, its own contents, tags. Where a page is a list of links, those are what it is about.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from html import escape
from itertools import chain, compress, count, repeat, takewhile
from operator import not_
from typing import TYPE_CHECKING

from lxml import etree

from tplspider.template.lines import (
    BLOCKS,
    CELLS,
    Line,
    lines_in,
    lines_of_elements,
    names_language,
)
from tplspider.web.html import Element, strings_xpath

if TYPE_CHECKING:
    from tplspider.template.flat_page import FlatPage

    Part = Element | str


# What stands around a part of a page and makes it what it is: the table of a row, the list of an
# entry, what names the language of code. Taken out of its page, a part needs it still.

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


# The parts of a key page that are its own: elements, and texts that stand loose between others.

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


# Parts that a page hides from its readers: copies for small screens, dialogs, traps for robots.
#
# Much that is hidden is there to be shown: the panels of tabs, answers below questions. What is
# opened from somewhere on the page, by its id, is not taken for hidden; nor is most of a page's
# text.

_UNSEEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_OPENERS = strings_xpath(
    "//@aria-controls | //@data-target | //@data-bs-target | //@onclick"
    " | //a/@href[starts-with(., '#') or starts-with(., 'javascript:')]"
)
_ID = re.compile(r"[\w-]+")


def hidden_elements(page: FlatPage, own: list[int], lines: list[Line]) -> set[int]:
    """The elements that the page hides and has nothing to open them by, and all that is in them.

    *own* are elements with something of the page's own, and *lines* its lines: where most of them
    are hidden, a script shows them. What has none of either in it is not looked at.
    """
    tops = [number for number in _candidates(page, own, lines) if _is_hidden(page.elements[number])]
    if not tops:
        return set()
    if any(page.names[number][0] for number in tops):
        opened = {name for value in _OPENERS(page.elements[0]) for name in _ID.findall(value)}
        tops = [number for number in tops if page.names[number][0] not in opened]
    hidden: set[int] = set()
    for number in tops:
        hidden.update(range(number, page.ends[number]))
    unseen = sum(line.letters for line in lines if hidden.issuperset(line.elements))
    return hidden if 2 * unseen < sum(line.letters for line in lines) else set()


def _candidates(page: FlatPage, own: list[int], lines: list[Line]) -> list[int]:
    """The elements in which something is hidden if anything is."""
    around = {*own}
    outside = {-1, *map(page.parents.__getitem__, own), *chain(*[line.elements for line in lines])}
    for element in outside - around:
        while element >= 0 and element not in around:
            around.add(element)
            element = page.parents[element]  # noqa: PLW2901 - up to one that is known
    numbers = sorted(around)
    elements = [page.elements[number] for number in numbers]
    styles, marks = (map(Element.get, elements, repeat(name)) for name in ("style", "hidden"))
    return [
        number
        for number, style, mark in zip(numbers, styles, marks, strict=True)
        if mark is not None
        or page.tags[number] == "dialog"
        or (style and _UNSEEN.search(style) is not None)
    ]


def _is_hidden(element: Element) -> bool:
    if element.get("role") == "tabpanel":
        return False
    if element.tag == "dialog":
        return element.get("open") is None
    # What is hidden until it is found is there to be found.
    if element.get("hidden", "until-found").strip().lower() != "until-found":
        return True
    return _UNSEEN.search(element.get("style") or "") is not None


# Where on a page its main part is, and what stands beside it.

MAIN_SHARE = 0.7  # of the text in an element: what has so much of it is where the main part is


def main_element(page: FlatPage, lines: list[Line], weights: list[float]) -> tuple[int, int]:
    """Where the main part is: the element that has most of the text, from the top down."""
    inside = [0.0] * len(page.tags)
    for line, weight in zip(lines, weights, strict=True):
        inside[line.elements[0]] += weight
    for element in range(len(inside) - 1, 0, -1):
        inside[page.parents[element]] += inside[element]
    main = 0
    while inside[main] > 0:
        children = [child for child in page.children[main] if inside[child]]
        best = max(children, key=lambda child: inside[child], default=main)
        if best == main or inside[best] < MAIN_SHARE * inside[main]:
            break
        if any(child != best and kind_of(page, child) == kind_of(page, best) for child in children):
            break  # one of several of its kind: an entry, a paragraph
        main = best
    return main, page.ends[main]


def kind_of(page: FlatPage, element: int) -> tuple[str, str | None]:
    """The tag and the class of an element."""
    return page.tags[element], page.names[element][1]


def outermost_outside(page: FlatPage, element: int, start: int, end: int) -> int:
    """The largest element round one that does not hold the main part; -1 in the main part."""
    if start <= element < end:
        return -1
    found = element
    while (parent := page.parents[found]) >= 0 and not parent <= start < page.ends[parent]:
        found = parent
    return found


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

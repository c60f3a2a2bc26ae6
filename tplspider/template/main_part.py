"""The main part of a page: what a reader came for, within what is not template.

What is not template is known by evidence. In it, each line is kept or left out by its score.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from html import escape
from itertools import chain, compress, count, pairwise, repeat, takewhile
from operator import not_
from typing import TYPE_CHECKING

from lxml import etree

from tplspider.template.labels import marked_elements
from tplspider.template.line_scores import (
    UNIT,
    first_stage,
    left_out,
    second_stage,
    strongest,
)
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
    from collections.abc import Iterable, Sequence

    from tplspider.template.extract import Comparison
    from tplspider.template.flat_page import FlatPage
    from tplspider.template.line_scores import Feature, Features, ScoredLines

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


# Which lines of a page are its main text, and the elements that hold them.

_HEADINGS = frozenset({"h2", "h3", "h4", "h5", "h6"})
TITLES = 3  # so many links in one slot may be the titles of entries
LITTLE = 200  # letters: where there are fewer, all are kept
# What each compared page adds to the scores of lines: with more of them, less is left to leave out.
SURER, MOST_SURE = UNIT // 5, 3
_WORD = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """A line that is not template, its score, and what weighed most in that."""

    text: str
    kept: bool
    score: int
    reasons: list[tuple[Feature, int]]

    def __str__(self) -> str:
        sign = "+" if self.kept else "-"
        named = ((" ".join(map(str, feature)), weight) for feature, weight in self.reasons)
        why = ", ".join(f"{name} {weight / UNIT:+.2f}" for name, weight in named)
        return f"{sign} {self.score / UNIT:6.2f}  {self.text:.60}  ({why})"


@dataclass(slots=True)
class MainPart:
    """The main part of a page: elements, words directly in others, and what is left out."""

    page: FlatPage
    elements: list[int]
    loose: list[int]
    without: list[int]
    judged: list[JudgedLine]

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


def find_main_part(comparison: Comparison, *, explain: bool = False) -> MainPart:
    """The main part, given what is template and which parts are data with a common label."""
    page, template = comparison.key, comparison.template
    own = list(compress(count(), map(not_, template)))
    lines, marks, hidden = lines_to_judge(comparison, own)
    first = first_stage(page, lines)
    features, scores = second_stage(first, comparison.others, marks)
    bonus = SURER * min(len(comparison.others), MOST_SURE)
    scores = [value + bonus for value in scores]
    for n in compress(count(), left_out(first)):
        scores[n] = min(scores[n], -UNIT)
    kept = kept_lines(lines, scores, data_tables(page))
    _judge_headings(first, page, kept)
    judged = [
        JudgedLine(line.text, yes, value, strongest([*found, *of_second]))
        for line, yes, value, found, of_second in (
            zip(lines, kept, scores, first.features, features, strict=True) if explain else ()
        )
    ]
    words: tuple[set[int], set[int]] = set(), set()  # the elements of lines: left out, kept
    for line, yes in zip(lines, kept, strict=True):
        words[yes].update(line.elements)
    elements, opened, without = _held(page, template, hidden, words)
    loose = [element for element in opened if not template[element] or element in comparison.loose]
    return MainPart(page, elements, sorted(loose), without, judged)


def lines_to_judge(
    comparison: Comparison, own: list[int]
) -> tuple[list[Line], list[Features], set[int]]:
    """The lines that are shown and not template, what is known of them, and hidden elements."""
    words_of_own = {*comparison.loose}
    known = [
        is_known and words_of_own.isdisjoint(line.elements)
        for line, is_known in zip(
            comparison.lines, lines_in(comparison.lines, comparison.template), strict=True
        )
    ]
    lines = [line for line, is_known in zip(comparison.lines, known, strict=True) if not is_known]
    hidden = hidden_elements(comparison.key, [*own, *comparison.loose], lines)
    for number in marked_elements(comparison.key):
        hidden.update(range(number, comparison.key.ends[number]))
    ends = comparison.key.ends
    data = [(part, ends[part]) for part in comparison.data]
    beside = ["none", *map(_beside, comparison.lines, known), "none"]
    shown, marks = [], []
    for n, (line, is_known) in enumerate(zip(comparison.lines, known, strict=True)):
        if is_known or (hidden and hidden.issuperset(line.elements)):
            continue
        shown.append(line)
        mark: Features = (("between", beside[n], beside[n + 2]),) if comparison.others else ()
        if data and any(start <= line.elements[0] < end for start, end in data):
            mark = (*mark, ("data",))
        marks.append(mark)
    return shown, marks, hidden


def _beside(line: Line, is_template: bool) -> str:  # noqa: FBT001 - of each of many lines
    """What a line is to the next: a label, if it is template and ends in a colon."""
    if not is_template:
        return "own"
    return "link" if line.linked >= 0.5 else "label" if line.text.endswith(":") else "template"


def data_tables(page: FlatPage) -> list[int]:
    """Where the tables with headings of columns, and without a table in them, start and end."""
    starts = [element for element, tag in enumerate(page.tags) if tag == "table"]
    found: list[int] = []
    for start, after in pairwise([*starts, len(page.tags)]):
        end = page.ends[start]
        cells = [tag for tag in page.tags[start:end] if tag in CELLS]
        if end <= after and cells[1:2] == ["th"]:
            found += (start, end)
    return found


def kept_lines(lines: list[Line], scores: list[int], tables: Sequence[int] = ()) -> list[bool]:
    """Whether each line is kept: lines with words in the same element are, or are not, together.

    So are those in each of the *tables*.
    """
    first_in: dict[int, int] = {}  # by element
    leader = list(range(len(lines)))

    def lead(n: int) -> int:
        while leader[n] != n:
            leader[n] = n = leader[leader[n]]
        return n

    for n, line in enumerate(lines):
        table = bisect_right(tables, line.elements[0])
        within = (tables[table - 1],) if table % 2 else ()
        for element in (*line.elements, *within):
            before = first_in.setdefault(element, n)
            if before != n:
                leader[lead(n)] = lead(before)
    leaders = list(map(lead, leader))
    sums = [0] * len(lines)
    for line, value, n in zip(lines, scores, leaders, strict=True):
        sums[n] += value * line.letters
    if sum(line.letters for line in lines) < LITTLE or not any(value > 0 for value in sums):
        return [True] * len(lines)
    return [sums[n] > 0 for n in leaders]


def _judge_headings(first: ScoredLines, page: FlatPage, kept: list[bool]) -> None:
    """Judge headings by the lines up to the next heading.

    If all are left out, so is a heading that is no link. If most are kept, so is a heading that is
    a link, as are others in its slot: they are the titles of entries.
    """
    titles = Counter(
        slot for slot, line in zip(first.slots, first.lines, strict=True) if line.linked >= 0.5
    )
    below = {False: 0, True: 0}  # letters
    for n in range(len(kept) - 1, -1, -1):
        line = first.lines[n]
        block = min(line.elements)
        while block and page.tags[block] not in BLOCKS:
            block = page.parents[block]
        if page.tags[block] in _HEADINGS:
            if line.linked >= 0.5:
                in_box = ("box", 0, first.shapes[n]) in first.features[n]
                is_title = in_box and titles[first.slots[n]] >= TITLES
                is_title = is_title and below[True] > below[False]
                kept[n] = kept[n] or is_title
            elif below[False] and not below[True]:
                kept[n] = False
            below = {False: 0, True: 0}
        below[kept[n]] += line.letters


def _held(
    page: FlatPage, template: list[bool], hidden: set[int], words: tuple[set[int], set[int]]
) -> tuple[list[int], set[int], list[int]]:
    """The elements that are kept, those with loose words that are, and what is left out of them.

    *words* are the elements with words that are left out, and with words that are kept.
    """
    parents = page.parents
    around = [_with_those_around(page, some) for some in words]
    # What has words that are left out and others that are kept is kept part by part.
    torn = _with_those_around(page, words[0] & around[1])
    elements, without = [], []
    opened = [known or element in torn for element, known in enumerate(template)]
    for element, is_open in enumerate(opened):
        if is_open:
            continue
        gone = element in hidden or (page.links[element] and _is_pilcrow(page, element))
        if opened[parents[element]]:
            # Pictures and the like stay with what they are in; signs without a letter do not.
            bare = not any(page.texts[element : page.ends[element]])
            if not gone and (element in around[1] or (bare and element not in around[0])):
                elements.append(element)
        elif gone or (element in around[0] and element not in around[1]):
            without.append(element)
    return elements, {element for element in words[1] if opened[element]}, without


def _with_those_around(page: FlatPage, elements: Iterable[int]) -> set[int]:
    found = {-1}
    for element in elements:
        while element not in found:
            found.add(element)
            element = page.parents[element]  # noqa: PLW2901 - up to one that is known
    return found


def _is_pilcrow(page: FlatPage, element: int) -> bool:
    """Whether an element is a link to a place on the page, without a word."""
    return page.links[element].startswith("self?#") and not any(
        _WORD.search(text) for text in page.texts[element : page.ends[element]]
    )

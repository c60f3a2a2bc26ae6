"""The lines of a page as a reader sees them, each with the elements that hold its words.

The same words make the same line, whatever ``font`` and ``span`` they are wrapped in: what the tree
of a page cannot tell of hand-made pages, its lines can.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from tplspider.template.text_lines import BLOCKS, CELLS
from tplspider.web.flat_page import UNCOUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.web.flat_page import FlatPage

_ENDS_LINE = BLOCKS | CELLS | {"button", "optgroup", "select", "textarea"}
_LINKS = frozenset({"a", "area"})
_HIDDEN = UNCOUNTED | {"template", "iframe", "object", "svg"}
_WORD = re.compile(r"\w")
_LINK_OF = itemgetter(2)  # of some words
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())
_SYLLABLES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def letters(text: str) -> int:
    """How many letters and digits there are; a Chinese or Korean one says as much as three."""
    if text.isascii():  # as bytes, since there are many lines
        return len(text.encode().translate(None, _NO_LETTERS))
    return sum(map(str.isalnum, text)) + 2 * len(_SYLLABLES.findall(text))


# Some words, the element they are directly in, the link that is in or -1, and their length.
Words = tuple[str, int, int, int]
Names = tuple[tuple[str, str], ...]  # of a line

LINK = 5  # letters that a link to the same place is worth, beside its own


class Line(NamedTuple):
    """What stands between two ends of a line.

    Of a line that is one link, *link* and *target* are where it leads, as in a FlatPage.
    """

    text: str
    link: str
    target: str
    elements: tuple[int, ...]
    letters: int  # and digits in the text
    linked: float = 0.0  # the share of the text in links

    @property
    def size(self) -> int:
        """How much there is of it that another line has hardly by coincidence."""
        return self.letters + (LINK if self.link else 0)

    @property
    def names(self) -> Names:
        """What makes two lines the same, any of these."""
        return _names(self.text, self.link, self.target) if self.link else ((self.text, ""),)


def page_lines(page: FlatPage) -> list[Line]:
    """The visible lines of a page, in document order.

    A run of nothing but links and signs between them (Home | News) is a line for each link.
    """
    return [
        _line(page, text, parts, link) for text, parts, link in _rows(page) if _WORD.search(text)
    ]


def lines_in(lines: list[Line], among: list[bool]) -> list[bool]:
    """Of each line, whether all elements that hold its words are among some."""
    return [
        among[line.elements[0]]
        if len(line.elements) == 1
        else all(map(among.__getitem__, line.elements))
        for line in lines
    ]


class FoundLines(Counter[tuple[str, str]]):
    """The names of the lines that a page has, and how often they are there."""

    @cached_property
    def targets(self) -> dict[str, set[str]]:
        """Where the links with a text lead."""
        targets: dict[str, set[str]] = {}
        for text, where in self:
            if where:
                targets.setdefault(text, set()).add(where)
        return targets


def line_names(page: FlatPage) -> FoundLines:
    """The names of the lines of a page."""
    names: list[tuple[str, str]] = []
    for text, _, link in _rows(page):
        if link >= 0:
            names += _names(text, page.links[link], page.targets[link])
        else:
            names.append((text, ""))
    return FoundLines(names)


def _names(text: str, link: str, target: str) -> Names:
    path, query, _ = target.partition("?")
    if not query and link == target:
        return ((text, link),)
    # A query may be a session's, or say in which language one came.
    return tuple({(text, where): None for where in (link, target, path)})


def _rows(page: FlatPage) -> Iterator[tuple[str, list[Words], int]]:
    """What makes each line: its text, its parts, and the link that it is or -1."""
    for run in _runs(page):
        if len(run) == 1:  # as most of them, and there may be many
            yield run[0][0], run, run[0][2]
        elif _is_links(run):
            for link, same in groupby(run, key=_LINK_OF):
                if link >= 0:
                    parts = list(same)
                    yield " ".join([part for part, _, _, _ in parts]), parts, link
        else:
            yield " ".join([part for part, _, _, _ in run]), run, -1


def _runs(page: FlatPage) -> list[list[Words]]:
    """The words between two ends of a line, for all lines."""
    runs: list[list[Words]] = []
    run: list[Words] = []
    nodes = page.written
    tails, tags, page_links = nodes.tails, nodes.tags, page.links
    ends_line = [tag in _ENDS_LINE for tag in nodes.tags]
    # Of each node, the element and the link that words in it are in; -1 if they are not shown.
    holders = [-1 if tag in _HIDDEN else n for tag, n in zip(nodes.tags, page.numbers, strict=True)]
    links = [-1] * len(holders)
    open_nodes: list[int] = []
    # After the last node one that is in none of them.
    for place, (parent, text) in enumerate(
        zip([*nodes.parents, -1], [*nodes.texts, ""], strict=True)
    ):
        while open_nodes and (closing := open_nodes[-1]) != parent:
            open_nodes.pop()
            if run and ends_line[closing]:
                runs.append(run)
                run = []
            # What is after the body is not in it.
            if tails[closing] and open_nodes and holders[around := open_nodes[-1]] >= 0:
                length = len(nodes.written_tails[closing])
                run.append((tails[closing], holders[around], links[around], length))
        if place == len(holders):
            break
        open_nodes.append(place)
        if parent >= 0:
            if holders[parent] < 0:
                holders[place] = -1
                continue
            links[place] = links[parent]
        holder = holders[place]
        if holder < 0:
            continue
        if run and ends_line[place]:
            runs.append(run)
            run = []
        if page_links[holder] and tags[place] in _LINKS:
            links[place] = holder
        if text:
            run.append((text, holder, links[place], len(nodes.written_texts[place])))
    if run:
        runs.append(run)
    return runs


def _is_links(run: list[Words]) -> bool:
    """Whether there are links, and no words beside them."""
    linked = False
    for text, _, link, _ in run:
        if link >= 0:
            linked = True
        elif _WORD.search(text):
            return False
    return linked


def _line(page: FlatPage, text: str, run: list[Words], link: int) -> Line:
    if len(run) == 1:
        elements: tuple[int, ...] = (run[0][1],)
    else:
        elements = tuple(dict.fromkeys([element for _, element, _, _ in run]))
    if link >= 0:
        where = page.links[link], page.targets[link]
        return Line(text, *where, elements, letters(text), 1.0)
    if len(run) == 1:
        return Line(text, "", "", elements, letters(text), 0.0)
    linked = sum([length for _, _, in_link, length in run if in_link >= 0])
    share = linked / sum([length for _, _, _, length in run])
    return Line(text, "", "", elements, letters(text), share)

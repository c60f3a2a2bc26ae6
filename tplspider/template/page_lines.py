"""The lines of a page as a reader sees them, each with the elements that hold its words.

The same words make the same line, whatever ``font`` and ``span`` they are wrapped in: what the tree
of a page cannot tell of hand-made pages, its lines can.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from itertools import chain, groupby, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from tplspider.template.text_lines import BLOCKS, CELLS
from tplspider.web.html import UNCOUNTED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.template.flat_page import FlatPage

_ENDS_LINE = BLOCKS | CELLS | {"button", "optgroup", "select", "textarea"}
_LINKS = frozenset({"a", "area"})
_HIDDEN = UNCOUNTED | {"template", "iframe", "object", "svg"}
_COMMENTS = (etree.Comment, etree.ProcessingInstruction, etree.Entity)  # for tags

# All of that at once: what a tag is.
_END, _LINK, _IS_HIDDEN = 1, 2, 4
_KINDS: dict[Any, int] = {
    **dict.fromkeys(_ENDS_LINE, _END),
    **dict.fromkeys(_LINKS, _LINK),
    **dict.fromkeys([*_HIDDEN, *_COMMENTS], _IS_HIDDEN),
}
_WORD = re.compile(r"\w")
_LINK_OF = itemgetter(2)  # of some words
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_SYLLABLES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def letters(text: str) -> int:
    """How many letters and digits there are; a Chinese or Korean one says as much as three."""
    if text.isascii():  # as bytes, since there are many lines
        return len(text.encode().translate(None, _NO_LETTERS))
    plain = text.encode("ascii", "ignore").translate(None, _NO_LETTERS)
    others = "".join(_NOT_ASCII.findall(text))
    return len(plain) + sum(map(str.isalnum, others)) + 2 * len(_SYLLABLES.findall(others))


def _all_letters(texts: list[str]) -> list[int]:
    """The same of many texts."""
    # At once, those that are ASCII: no text has a NUL in it.
    ascii_texts = "\0".join([text if text.isascii() else "" for text in texts])
    counts = list(map(len, ascii_texts.encode().translate(None, _NO_LETTERS[1:]).split(b"\0")))
    if not all(counts):
        return [n or letters(text) for n, text in zip(counts, texts, strict=False)]
    return counts


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
    rows = list(_rows(page))
    counts = _all_letters([text for text, _, _ in rows])
    return [
        _line(page, *row, n)
        for row, n in zip(rows, counts, strict=False)
        if n or "_" in row[0]  # all that \w stands for
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


def _runs(page: FlatPage) -> list[list[Words]]:  # noqa: PLR0912 - one walk, of a large page maybe
    """The words between two ends of a line, for all lines."""
    runs: list[list[Words]] = []
    run: list[Words] = []
    nodes, numbers, page_links = page.written, page.numbers, page.links
    tails, parents = nodes.tails, nodes.parents
    kinds = list(map(_KINDS.get, nodes.tags, repeat(0)))
    link = link_place = -1  # the link that words are in, and its place among the nodes
    around: list[tuple[int, int]] = []  # the same of links around it
    hidden = len(kinds)  # nothing of what is in this one is shown
    top = -1  # the last node that is still open

    # After the last node one that is in none of them.
    for place, (parent, kind, text) in enumerate(
        zip(chain(parents, (-1,)), chain(kinds, (0,)), chain(nodes.texts, ("",)), strict=True)
    ):
        if parent >= hidden:
            if run and kind & _END:
                runs.append(run)
                run = []
            continue
        while top != parent:
            if run and kinds[top] & _END:
                runs.append(run)
                run = []
            if top == link_place:
                link, link_place = around.pop()
            tail, top, closed = tails[top], parents[top], top
            if tail and top >= 0:  # what is after the body is not in it
                run.append((tail, numbers[top], link, len(nodes.written_tails[closed])))
        if place == len(kinds):
            break
        top = place
        hidden = len(kinds)
        if kind:
            if kind & _IS_HIDDEN:
                hidden = place
                continue
            if kind & _END:
                if run:
                    runs.append(run)
                    run = []
            elif page_links[numbers[place]]:
                around.append((link, link_place))
                link, link_place = numbers[place], place
        if text:
            run.append((text, numbers[place], link, len(nodes.written_texts[place])))
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


def _line(page: FlatPage, text: str, run: list[Words], link: int, count: int) -> Line:
    if len(run) == 1:
        elements: tuple[int, ...] = (run[0][1],)
        share = 0.0
    else:
        elements = tuple(dict.fromkeys([element for _, element, _, _ in run]))
        if link < 0:
            linked = sum([length for _, _, in_link, length in run if in_link >= 0])
            share = linked / sum([length for _, _, _, length in run])
    if link >= 0:
        what = text, page.links[link], page.targets[link], elements, count, 1.0
    else:
        what = text, "", "", elements, count, share
    return tuple.__new__(Line, what)  # in a third of the time of Line(*what): there may be many

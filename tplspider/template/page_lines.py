"""The lines of a page as a reader sees them, each with the elements that hold its words.

The same words make the same line, whatever ``font`` and ``span`` they are wrapped in: what the tree
of a page cannot tell of hand-made pages, its lines can.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tplspider.template.text_lines import BLOCKS, CELLS
from tplspider.web.flat_page import UNCOUNTED

if TYPE_CHECKING:
    from collections.abc import Container

    from tplspider.web.flat_page import FlatPage

_ENDS_LINE = BLOCKS | CELLS | {"button", "optgroup", "select", "textarea"}
_LINKS = frozenset({"a", "area"})
_HIDDEN = UNCOUNTED | {"template", "iframe", "object", "svg"}
_WORD = re.compile(r"\w")
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
        if not self.link:
            return ((self.text, ""),)
        path, query, _ = self.target.partition("?")
        if not query and self.link == self.target:
            return ((self.text, self.link),)
        # A query may be a session's, or say in which language one came.
        return tuple({(self.text, where): None for where in (self.link, self.target, path)})


def page_lines(  # noqa: PLR0915 - one walk; functions of its own would double its time
    page: FlatPage, wanted: Container[str] | None = None
) -> list[Line]:
    """The visible lines of a page, in document order; of those with a *wanted* text, if given.

    A run of nothing but links and signs between them (Home | News) is a line for each link.
    """
    lines: list[Line] = []
    run: list[Words] = []

    def add_line(parts: list[Words], link: str = "", target: str = "") -> None:
        text = " ".join([part for part, _, _, _ in parts])
        if wanted is None or text in wanted:
            lines.append(_line(text, parts, link, target))

    def end_line() -> None:
        if len(run) == 1:  # as most of them, and there may be many
            ((text, element, link, _),) = run
            run.clear()
            if wanted is not None and text not in wanted:
                return
            at = (element,)
            if link >= 0:
                lines.append(
                    Line(text, page.links[link], page.targets[link], at, letters(text), 1.0)
                )
            else:
                lines.append(Line(text, "", "", at, letters(text), 0.0))
            return
        if _is_links(run):
            start = 0
            while start < len(run):
                link = run[start][2]
                end = start + 1
                while end < len(run) and run[end][2] == link:
                    end += 1
                if link >= 0:
                    add_line(run[start:end], page.links[link], page.targets[link])
                start = end
        else:
            add_line(run)
        run.clear()

    nodes = page.written
    texts, tails, parents = nodes.texts, nodes.tails, nodes.parents
    ends_line = [tag in _ENDS_LINE for tag in nodes.tags]
    # Of each node, the element and the link that words in it are in; -1 if they are not shown.
    holders = [-1 if tag in _HIDDEN else n for tag, n in zip(nodes.tags, page.numbers, strict=True)]
    links = [-1] * len(holders)
    open_nodes: list[int] = []
    for place, parent in enumerate([*parents, -1]):
        while open_nodes and (closing := open_nodes[-1]) != parent:
            open_nodes.pop()
            if run and ends_line[closing]:
                end_line()
            # What is after the body is not in it.
            if tails[closing] and open_nodes and holders[around := open_nodes[-1]] >= 0:
                length = nodes.tail_lengths[closing]
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
            end_line()
        if page.links[holder] and nodes.tags[place] in _LINKS:
            links[place] = holder
        if texts[place]:
            run.append((texts[place], holder, links[place], nodes.text_lengths[place]))
    if run:
        end_line()
    return [line for line in lines if _WORD.search(line.text)]


def _is_links(run: list[Words]) -> bool:
    """Whether there are links, and no words beside them."""
    linked = False
    for text, _, link, _ in run:
        if link >= 0:
            linked = True
        elif _WORD.search(text):
            return False
    return linked


def _line(text: str, run: list[Words], link: str, target: str) -> Line:
    elements = tuple(dict.fromkeys(element for _, element, _, _ in run))
    if link:
        return Line(text, link, target, elements, letters(text), 1.0)
    linked = sum(length for _, _, in_link, length in run if in_link >= 0)
    share = linked / sum(length for _, _, _, length in run)
    return Line(text, link, target, elements, letters(text), share)

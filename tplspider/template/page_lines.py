"""The lines of a page as a reader sees them, each with the elements that hold its words.

The same words make the same line, whatever ``font`` and ``span`` they are wrapped in: what the tree
of a page cannot tell of hand-made pages, its lines can.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tplspider.template.text_lines import BLOCKS, CELLS
from tplspider.web.flat_page import UNCOUNTED
from tplspider.web.html import fold

if TYPE_CHECKING:
    from collections.abc import Container

    from tplspider.web.flat_page import FlatPage
    from tplspider.web.html import Element

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
    linked: float = 0.0  # the share of the text in links

    @property
    def size(self) -> int:
        """How much there is of it that another line has hardly by coincidence."""
        return letters(self.text) + (LINK if self.link else 0)

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
    run: list[tuple[str, int, int]] = []  # (text, the element it is directly in, the link or -1)

    def add_line(parts: list[tuple[str, int, int]], link: str = "", target: str = "") -> None:
        text = fold(" ".join([part for part, _, _ in parts]))
        if wanted is None or text in wanted:
            lines.append(_line(text, parts, link, target))

    def end_line() -> None:
        if len(run) == 1:  # as most of them, and there may be many
            ((text, element, link),) = run
            run.clear()
            text = " ".join(text.split())
            if wanted is not None and text not in wanted:
                return
            at = (element,)
            if link >= 0:
                lines.append(Line(text, page.links[link], page.targets[link], at, 1.0))
            else:
                lines.append(Line(text, "", "", at, 0.0))
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

    body = page.elements[0]
    elements, parents = page.elements, page.parents
    count, following = len(elements), 0  # elements stand in document order, as the nodes do
    # Each node with its text, and its tail once the next node is not inside it any more.
    stack: list[tuple[Element, int, bool, int, int]] = []
    holder, link = 0, -1

    def close() -> None:
        nonlocal holder, link
        closing, _, ends_line, holder, link = stack.pop()
        if ends_line and run:
            end_line()
        tail = closing.tail if stack else None  # what is after the body is not in it
        if tail and holder >= 0 and not tail.isspace():
            run.append((tail, holder, link))

    for node in body.iter():
        number = -1
        if following < count and elements[following] is node:
            number = following
            following += 1
            parent = parents[number]
            while stack and stack[-1][1] != parent:
                close()
        else:
            around = node.getparent()
            while stack[-1][0] is not around:
                close()
        tag = node.tag
        ends_line = tag in _ENDS_LINE
        stack.append((node, number, ends_line, holder, link))
        if holder < 0:
            continue
        holder = number if tag not in _HIDDEN else -1
        if holder < 0:
            continue
        if ends_line and run:
            end_line()
        if tag in _LINKS and page.links[holder]:
            link = holder
        text = node.text
        if text and not text.isspace():
            run.append((text, holder, link))
    while stack:
        close()
    if run:
        end_line()
    return [line for line in lines if _WORD.search(line.text)]


def _is_links(run: list[tuple[str, int, int]]) -> bool:
    """Whether there are links, and no words beside them."""
    linked = False
    for text, _, link in run:
        if link >= 0:
            linked = True
        elif _WORD.search(text):
            return False
    return linked


def _line(text: str, run: list[tuple[str, int, int]], link: str, target: str) -> Line:
    elements = tuple(dict.fromkeys(element for _, element, _ in run))
    if link:
        return Line(text, link, target, elements, 1.0)
    linked = sum(len(part) for part, _, in_link in run if in_link >= 0)
    return Line(text, link, target, elements, linked / sum(len(part) for part, _, _ in run))

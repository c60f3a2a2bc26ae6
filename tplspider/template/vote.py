"""Which elements of the key page are template, by what the other pages have to say about each.

An element is judged from the top down, by the pages in which its parent has a counterpart. A page
of another kind (a landing page, a list of posts) has no counterpart for whole regions of the key
page: it says nothing about what is inside them. The more alike a page, the more it weighs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import TYPE_CHECKING

from tplspider.template.element_text import TEXT_BLOCKS, ElementTexts
from tplspider.template.line_evidence import accept_common_lines, drop_sandwiched
from tplspider.template.rules import (
    accept_main_wrappers,
    drop_hollow,
    drop_labelled_data,
    drop_patchwork,
    drop_records,
)
from tplspider.template.shared_entries import drop_shared_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tplspider.template.flat_page import FlatPage
    from tplspider.template.page_lines import FoundLines, Line

MOST = 0.85  # the share of the pages, by weight, that must have an element ...
HALF = 0.5  # ... or, if it is part of the page's frame, so many of them
SEVERAL = 0.6  # or so many, two at the least, if they have half of its text as well
NEAREST = 0.8  # how much a page must weigh to vouch for a menu alone, the nearest weighing 1
MENU_ENTRIES = 4
RUNNING_TEXT = 2  # so many blocks of text that few pages have, side by side, are running text

_FRAME = frozenset(
    "a article aside button div footer form header main nav ol section span ul".split()
)


@dataclass(frozen=True, slots=True)
class Votes:
    """What came of the vote and of the rules.

    *around* are elements that are template for what is in them, and have words of the page's own;
    *data* are parts that pages have because of what they are about, labelled alike on all.
    """

    template: list[bool]
    around: list[int]
    data: list[int]


def vote(
    key: FlatPage,
    lines: list[Line],
    others: Sequence[FlatPage],
    mappings: Sequence[Sequence[int]],
    found_lines: Sequence[FoundLines],
) -> Votes:
    """Of each element of the key page, whether it is template, given its mappings to pages."""
    texts = ElementTexts(key)
    votes = _Vote(key, mappings, texts)
    template = votes.template
    drop_records(key, texts, template)
    drop_hollow(key, texts, template)
    around = accept_common_lines(
        key, lines, texts, others, found_lines, votes.weights, template, votes.mapped
    )
    drop_patchwork(key, texts, template)
    drop_shared_entries(key, texts, others, mappings, template)
    if len(others) == 1:
        around += drop_sandwiched(key, lines, texts, template)
    data = drop_labelled_data(key, texts, template)
    accept_main_wrappers(key, texts, template)
    return Votes(template, around, data)


class _Vote:
    """The pages' votes, and the elements that have enough of them."""

    def __init__(
        self, key: FlatPage, mappings: Sequence[Sequence[int]], texts: ElementTexts
    ) -> None:
        self.key = key
        self.mappings = mappings
        self.texts = texts
        self.weights = self._weights()
        # Of each element, which pages have it.
        self.having = [[counterpart >= 0 for counterpart in mapping] for mapping in mappings]
        self.voters = list(map(sum, zip(*self.having, strict=True)))  # how many they are
        self.running: dict[int, bool] = {}
        # What all pages have is template: what is round it, they have as well.
        self.template = [count == len(mappings) for count in self.voters]
        self.template[0] = True
        for element, count in enumerate(self.voters):
            if 0 < count < len(mappings) and self.template[key.parents[element]]:
                self.template[element] = self._is_accepted(element)

    @cached_property
    def found(self) -> list[Callable[[int], int]]:
        """How much of an element's text each page has."""
        return [self.texts.own_within(having) for having in self.having]

    def _weights(self) -> list[float]:
        """How much each page weighs: by what it has in common with the key page."""
        common = [len(mapping) - mapping.count(-1) for mapping in self.mappings]
        most = max(common)
        self.mapped = most / len(self.key.tags)  # by the page that has most
        return [(count / most) ** 2 for count in common]

    def _votes(self, element: int) -> float:
        """The sum of the weights of the pages that have an element."""
        return sum(compress(self.weights, [has[element] for has in self.having]), 0.0)

    def _has_running_text(self, element: int) -> bool:
        """Whether there is running text directly in an element."""
        if element not in self.running:
            enough = MOST * self._votes(element)
            blocks = [
                child
                for child in self.key.children[element]
                if self.key.tags[child] in TEXT_BLOCKS and self._votes(child) < enough
            ]
            self.running[element] = len(blocks) >= RUNNING_TEXT
        return self.running[element]

    def _is_accepted(self, element: int) -> bool:
        key, texts = self.key, self.texts
        parent = key.parents[element]
        votes, whole = self._votes(element), self._votes(parent)
        if (
            votes < MOST * whole - 1e-9
            and (votes < HALF * whole - 1e-9 or not self._is_frame(element))
            and not (texts.inside[element] and self._has_text(element, whole))
        ):
            return False
        # A block that one page alone has, among the text of both, is a coincidence.
        return not (
            self.voters[element] == 1 < len(self.mappings)
            and key.tags[element] in TEXT_BLOCKS
            and texts.is_alone(element)
            and not texts.is_named(element)
        )

    def _is_frame(self, element: int) -> bool:
        """Whether an element is part of the page's frame."""
        key, texts = self.key, self.texts
        return (
            key.tags[element] in _FRAME
            and texts.is_named(element)
            and texts.is_alone(element)
            and not key.texts[element]
            and not self._has_running_text(key.parents[element])
        )

    def _has_text(self, element: int, whole: float) -> bool:
        """Whether some pages have half of its text; one is enough for a menu, the nearest."""
        half = 0.5 * self.texts.inside[element]
        having = [
            weight
            for weight, found, has in zip(self.weights, self.found, self.having, strict=True)
            if has[element] and found(element) >= half
        ]
        if not having:
            return False
        if len(having) >= min(2, len(self.weights)) and sum(having) >= SEVERAL * whole:
            return True
        return max(having) >= NEAREST and self.texts.is_menu(element, MENU_ENTRIES)

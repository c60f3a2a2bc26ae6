"""Which lines of a page are its own, and which its site's: told by how many other pages have them.

Nobody has labelled anything, so the labels are silver at best: what many pages of a site have is
boilerplate, what few have is the page's own, and what lies between is not counted.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median_high
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.evaluation.silver_lines import Line

OWN, BOILERPLATE, UNCLEAR = "own", "boilerplate", ""

MOST_PAGES = 60  # of a site, to look lines up on
SHARED = 1 / 2  # of the pages: so many have what is boilerplate ...
SHARED_LINK = 1 / 4  # ... and the same words with the same target are no coincidence
FEW = 1 / 10  # of the pages: so many may have what is a page's own by chance ...
FEW_PAGES = 2  # ... and so many in any case
IN_FOLDER = 5  # pages in a folder that show what its own menu is

_DIGIT = re.compile(r"\d")


@dataclass(frozen=True, eq=False)
class SitePage:
    """A page of a site: its path there, and its lines."""

    path: str
    lines: tuple[Line, ...]

    @property
    def folder(self) -> str:
        """The folder that the page is in."""
        return self.path.rpartition("/")[0]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The lines without their targets."""
        return tuple(line.text for line in self.lines)


def pages_beside(key: SitePage, pages: Iterable[SitePage]) -> list[SitePage]:
    """The pages that the lines of *key* are looked up on, no text twice.

    Of a large site some are enough: they are spread over it evenly, by the order they are given in.
    """
    different = {page.texts: page for page in reversed(list(pages)) if page.texts}
    different.pop(key.texts, None)
    beside = list(reversed(different.values()))
    if len(beside) <= MOST_PAGES:
        return beside
    return [beside[place * len(beside) // MOST_PAGES] for place in range(MOST_PAGES)]


def label_lines(key: SitePage, beside: Sequence[SitePage]) -> list[str]:
    """The label of each line of the key page."""
    site = _Spread()
    folder = _Spread()
    for page in beside:
        site.add(page)
        if page.folder == key.folder:
            folder.add(page)
    on_key = Counter(key.texts)

    def is_shared(line: Line) -> bool:
        if len(site.texts.get(line.text, ())) >= site.many:
            return True
        if not line.target:
            return False
        beneath = folder.pages >= IN_FOLDER and folder.links[line] >= SHARED * folder.pages
        return beneath or site.links[line] >= site.many * SHARED_LINK / SHARED

    def label(line: Line) -> str:
        if characters(line.text) < 2:
            return UNCLEAR
        times = site.texts.get(line.text, [])
        if is_shared(line):
            # A heading may have the words of a menu's entry: which of the two is left, who knows?
            return BOILERPLATE if on_key[line.text] <= median_high(times) else UNCLEAR
        if len(times) > max(FEW * site.pages, FEW_PAGES):
            return UNCLEAR
        if line.target and site.links[line] > FEW_PAGES:
            return UNCLEAR
        return UNCLEAR if site.shapes[_shape(line.text)] >= site.many else OWN

    return [label(line) for line in key.lines]


def characters(text: str) -> int:
    """The size of a text: its letters and digits."""
    return sum(map(str.isalnum, text))


@dataclass(slots=True)
class _Spread:
    """On how many pages of a site, or of a folder, there is what."""

    pages: int = 0
    texts: dict[str, list[int]] = field(default_factory=dict)  # times on each page that has it
    links: Counter[Line] = field(default_factory=Counter)  # lines that are links
    shapes: Counter[str] = field(default_factory=Counter)  # lines, any digit like any other

    def add(self, page: SitePage) -> None:
        self.pages += 1
        for text, times in Counter(page.texts).items():
            self.texts.setdefault(text, []).append(times)
        self.links.update({line for line in page.lines if line.target})
        self.shapes.update({_shape(text) for text in page.texts})

    @property
    def many(self) -> float:
        """How many pages have what is boilerplate: on a tiny site, two may by chance."""
        return max(SHARED * self.pages, FEW_PAGES + 1)


def _shape(text: str) -> str:
    return _DIGIT.sub("0", text)

"""Which pages of a pool tell most about a page: the nearest, by links and by directories.

But a page with the same words, a list of the same posts say, tells nothing about these words: what
few pages of the pool have in common with the page counts against them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from tplspider.pools.pool import PooledPage, page_identity
from tplspider.search.witness import path_segments, share_of_directories
from tplspider.template.flat_page import FlatPage, Vocabulary, flatten
from tplspider.template.lines import Line, page_lines
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tplspider.template.extract import ComparedPage

_LINKS = frozenset({"a", "area"})
SENTENCE = 20  # letters: a shorter line is the same on two pages by coincidence
FEW, FEW_OF = 2, 0.1  # pages, or the share of the pool: what more of them have may be template


@dataclass(frozen=True, slots=True)
class Signs:
    """What tells how near a page is to others: its place, where its links lead, its sentences.

    Of links and sentences there are hashes, which are those of this process alone. Sentences are
    long lines that are not links, with the number of their letters.
    """

    identity: str
    segments: list[str]  # of its path
    links: frozenset[int]
    sentences: Mapping[int, int]


def signs_of(page: FlatPage, lines: Iterable[Line], identity: str) -> Signs:
    """The signs of a page, given its lines.

    Links are taken as they are flattened, those to other sites among them: measured, they tell as
    much as the identities of getLinks, and they are there already. A page does not link to itself,
    but what leads to the one may well stand on the other.
    """
    targets = {
        target
        for tag, target in zip(page.tags, page.targets, strict=True)
        if target and tag in _LINKS
    }
    targets.add(page.url)
    sentences = {
        hash(line.text): line.letters
        for line in lines
        if line.letters >= SENTENCE and not line.link
    }
    return Signs(identity, path_segments(identity), frozenset(map(hash, targets)), sentences)


def read_signs(page: ComparedPage) -> Signs:
    """The signs of a page that is not read yet."""
    flat = flatten(parse_html(page.html), page.url, Vocabulary())
    return signs_of(flat, page_lines(flat), page_identity(page.url))


def nearest(key: Signs, pool: Mapping[PooledPage, Signs]) -> list[PooledPage]:
    """The pages of a pool but the key page, the nearest first; of equals, by their places."""
    return PoolSigns(pool).nearest(key)


class PoolSigns:
    """The signs of the pages of a pool, for one key page after the other."""

    def __init__(self, pool: Mapping[PooledPage, Signs]) -> None:
        self._pages = list(pool)
        signs = list(pool.values())
        self._identities = [each.identity for each in signs]
        # Sets of links as numbers, a bit for each link: what two of them share is counted at once.
        every = dict.fromkeys(chain.from_iterable(each.links for each in signs))
        self._bits = {link: bit for bit, link in enumerate(every)}
        # Many pages are in one directory.
        where = [(*each.segments[:-1], "") for each in signs]
        self._directories = list(dict.fromkeys(where))
        numbers = {place: number for number, place in enumerate(self._directories)}
        self._links = [
            (self._as_number(each.links), len(each.links), numbers[place])
            for each, place in zip(signs, where, strict=True)
        ]
        self._having: dict[int, set[int]] = {}  # the numbers of the pages that have a sentence
        for number, each in enumerate(signs):
            for sentence in each.sentences:
                self._having.setdefault(sentence, set()).add(number)

    def nearest(self, key: Signs) -> list[PooledPage]:
        """The pages but the key page, the nearest first; of equals, by their places."""
        likeness = self._likeness(key)
        others = {number for number, each in enumerate(self._identities) if each != key.identity}
        for number, share in self._same_words(key, others).items():
            likeness[number] -= share
        pages = [(-likeness[n], self._pages[n].place, n) for n in others]
        return [self._pages[number] for _, _, number in sorted(pages)]

    def _likeness(self, key: Signs) -> list[float]:
        """Of each page, from 0 to 2: the share of links on both, and of directories to both."""
        ours, size = self._as_number(key.links), len(key.links)
        shared = [share_of_directories(key.segments, place) for place in self._directories]
        return [
            (both := (ours & theirs).bit_count()) / (size + count - both) + shared[place]
            for theirs, count, place in self._links
        ]

    def _as_number(self, links: Iterable[int]) -> int:
        """Links as a number, those that no page of the pool has left out."""
        bits = bytearray(len(self._bits) // 8 + 1)
        for bit in [self._bits[link] for link in links if link in self._bits]:
            bits[bit >> 3] |= 1 << (bit & 7)
        return int.from_bytes(bits, "little")

    def _same_words(self, key: Signs, others: set[int]) -> dict[int, float]:
        """The share of the page's sentences that a page has and few others, if it has any."""
        few = max(FEW, FEW_OF * len(others))
        letters: dict[int, int] = {}
        for sentence, size in key.sentences.items():
            if sentence in self._having and len(having := others & self._having[sentence]) <= few:
                for number in having:
                    letters[number] = letters.get(number, 0) + size
        whole = sum(key.sentences.values())
        return {number: size / whole for number, size in letters.items()}


def companions(key: ComparedPage, pool: Iterable[PooledPage]) -> list[PooledPage]:
    """The pages of a pool, the nearest to a page first, for one who compares but a few pages."""
    known = {page: read_signs(page) for page in pool}
    return nearest(read_signs(key), known) if known else []

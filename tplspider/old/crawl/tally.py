"""What a crawl has given and lost: for the exit status, whatever becomes of the stats."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tplspider.search.cliques import POOL

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tplspider.items import CandidateSearch


COMPLETE, PARTIAL = "complete", "partial"
LOST = "lost"  # of an answer without its template


@dataclass(slots=True)
class Tally:
    """The key pages of one crawl, counted as they are answered."""

    answered: int = 0
    complete: int = 0
    unusable: Counter[str] = field(default_factory=Counter)  # by what their key pages gave
    loads: int = 0
    lost: int = 0  # outputs that were not written, items that were refused
    unwritten: set[str] = field(default_factory=set)  # open searches of which output is lost
    spoilt: set[str] = field(default_factory=set)  # open searches without their template
    earlier: Counter[str] = field(default_factory=Counter)  # outcomes before a restart
    has_begun: bool = False  # a list of which a key page was requested
    is_finished: bool = False  # there is no key page that was not answered

    @property
    def partial(self) -> int:
        """Those with fewer pages than were asked for."""
        return self.answered - self.complete - self.unusable.total()

    def has(self, outcome: str) -> bool:
        """Whether a key page had this outcome, now or before a restart."""
        return bool(self.unusable[outcome] or self.earlier[outcome])

    def take(self, summary: CandidateSearch, *, again: bool = False) -> None:
        """Count a key page that is answered, perhaps *again*, without another load."""
        self.answered += 1
        self.complete += _is_complete(summary)
        if not again:
            self.loads += summary.loads + summary.witness_loads
        if summary.key_outcome != "ok":
            self.unusable[summary.key_outcome] += 1


_TALLIES: WeakKeyDictionary[Crawler, Tally] = WeakKeyDictionary()


def tally_of(crawler: Crawler) -> Tally:
    """The tally of a crawl."""
    return _TALLIES.setdefault(crawler, Tally())


def outcome_of(summary: CandidateSearch) -> str:
    """What a key page counts as: complete or partial, or what was wrong with it."""
    if summary.key_outcome != "ok":
        return summary.key_outcome
    return COMPLETE if _is_complete(summary) else PARTIAL


def _is_complete(summary: CandidateSearch) -> bool:
    """Whether all was found that was looked for: with a pool, nothing is."""
    return summary.complete or summary.reason == POOL

"""What a crawl has given and lost: for the exit status, whatever becomes of the stats."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from tplspider.search.events import SearchEnded

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tplspider.search.events import Event


@dataclass(slots=True)
class Tally:
    """The searches of one crawl, counted."""

    ended: int = 0
    unusable: int = 0
    incomplete: int = 0
    lost: int = 0  # outputs that were not written, items that were refused

    def take(self, event: Event) -> None:
        """Count a search that is over."""
        if isinstance(event, SearchEnded):
            self.ended += 1
            self.unusable += event.summary.key_outcome != "ok"
            self.incomplete += not event.summary.complete


_TALLIES: WeakKeyDictionary[Crawler, Tally] = WeakKeyDictionary()


def tally_of(crawler: Crawler) -> Tally:
    """The tally of a crawl."""
    return _TALLIES.setdefault(crawler, Tally())

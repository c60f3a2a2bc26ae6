"""The pace at which a host is asked, which outlives what Scrapy keeps of it.

Scrapy has a slot for each host, with the delay between two requests. It varies that delay at
random, and drops the slot when nobody has used it for a minute. Neither will do for a Crawl-delay:
it is the least that a site asks for, and its robots.txt is not read again for a new slot.
"""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from scrapy.core.downloader import Slot

from tplspider.old.crawl.scrapy_private import lead_slots_through
from tplspider.old.crawl.ticket import ticket_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

_SOON = 1.0  # seconds until a look at what is in use is worth another one


class PacedSlot(Slot):
    """Scrapy's own, but however its delay varies, it is never shorter than *least* seconds."""

    __slots__ = ("least",)

    def __init__(self, slot: Slot, least: float) -> None:
        super().__init__(slot.concurrency, slot.delay, slot.jitter)
        self.lastseen = slot.lastseen
        self.least = least

    def download_delay(self) -> float:
        return max(self.least, super().download_delay())

    @property
    def rest(self) -> float:
        """Seconds until the next request would have to wait no more, however the delay varies."""
        longest = max(self.least, self.delay * (1 + self.jitter))
        return self.lastseen + longest - monotonic()


class Paces:
    """The slots of the hosts that searches use, by their keys; and what robots.txt asks of them."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._slots: dict[str, PacedSlot] = {}
        self._least: dict[str, float] = {}

    def start(self) -> None:
        """From now on, Scrapy's slots are of our kind."""
        lead_slots_through(self._crawler, self._choose)

    def ask_for(self, key: str, seconds: float) -> bool:
        """Let there be at least that many seconds between two requests; whether that is slower."""
        slot = self._slots.get(key) or self._crawler.engine.downloader.slots.get(key)
        before = max(self._least.get(key, 0), slot.delay if slot else 0)
        least = self._least[key] = max(seconds, self._least.get(key, 0))
        if isinstance(slot, PacedSlot):
            slot.least = least
        elif slot:  # of a kind of somebody's own
            slot.delay = max(slot.delay, least)
        return seconds > before

    def let_go(self, key: str, *, is_shared: bool) -> float:
        """Forget a pace, unless it is too early for that: then, the seconds until another try.

        A host may be asked at any moment once its slot is gone, so it stays until the delay is
        over. A slot that *is_shared* with requests that are not ours is left to Scrapy.
        """
        in_force = self._crawler.engine.downloader.slots
        slot = self._slots.get(key) or in_force.get(key)
        if isinstance(slot, PacedSlot):
            if slot.active:
                return _SOON
            if slot.rest > 0:
                return slot.rest
            if in_force.get(key) is slot and not is_shared:
                in_force.pop(key).close()
        self._slots.pop(key, None)
        self._least.pop(key, None)
        return 0

    def _choose(self, request: Request, key: str, slot: Slot) -> Slot:
        """The slot for a request: the one that was there before, where Scrapy has made another."""
        is_plain = type(slot) is Slot and not slot.active and not slot.latercall
        if is_plain:
            slot = self._slots.get(key) or PacedSlot(slot, self._least.get(key, 0))
        if isinstance(slot, PacedSlot) and ticket_of(request):
            self._slots[key] = slot
        return slot

"""What a worker has of the queue at the moment, and the hosts that it needs for that."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tplspider.crawl.fleet.keys import leased_host

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from tplspider.crawl.fleet.entry import QueueEntry


@dataclass(slots=True)
class _Held:
    entry: QueueEntry
    search_id: str  # '' of what is answered without a search
    host: str  # of its key page, '' likewise
    others: set[str] = field(default_factory=set)  # hosts that its search was led to


class InHand:
    """The entries of a worker, from the moment when it decides to search until they are answered.

    Hosts go by the names of their leases. No two entries ask for the same search.
    """

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}  # by the ids of entries
        self._searches: dict[str, str] = {}  # ids of entries, by those of searches
        self._of_host: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, entry_id: str) -> bool:
        return entry_id in self._held

    @property
    def ids(self) -> list[str]:
        return list(self._held)

    @property
    def deaths(self) -> int:
        """How many workers have died of one of these entries, or beside it, at most."""
        return max((held.entry.deaths for held in self._held.values()), default=0)

    @property
    def hosts(self) -> AbstractSet[str]:
        """The hosts that are asked on behalf of these entries."""
        return self._of_host.keys() | {host for held in self._held.values() for host in held.others}

    def of_host(self, host: str) -> int:
        """How many entries have their key page there."""
        return self._of_host.get(host, 0)

    def add(self, entry: QueueEntry, search_id: str = "", host: str = "") -> None:
        self._held[entry.id] = _Held(entry, search_id, host)
        if search_id:
            self._searches[search_id] = entry.id
            self._of_host[host] += 1

    def entry_of(self, search_id: str) -> str:
        """The id of the entry that asks for a search; '' if there is none."""
        return self._searches.get(search_id, "")

    def entry(self, entry_id: str) -> QueueEntry | None:
        held = self._held.get(entry_id)
        return held.entry if held else None

    def host_of(self, entry_id: str) -> str:
        held = self._held.get(entry_id)
        return held.host if held else ""

    def search_of(self, entry_id: str) -> str:
        held = self._held.get(entry_id)
        return held.search_id if held else ""

    def use(self, search_id: str, host: str) -> None:
        """A search asks another host as well."""
        if held := self._held.get(self.entry_of(search_id)):
            held.others.add(leased_host(host))

    def pop(self, entry_id: str) -> QueueEntry | None:
        held = self._held.pop(entry_id, None)
        if held is None:
            return None
        if held.search_id:
            self._searches.pop(held.search_id, None)
            self._of_host -= Counter([held.host])  # without those that have none left
        return held.entry

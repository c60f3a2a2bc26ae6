"""How many searches are open at a time: so many in all, and few of one host."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Searches of one host share its pace: more of them would end later and hold the places of others.
# With two, one can load while the template of the other is extracted.
OF_ONE_HOST = 2


class Admission:
    """The places for searches, and who has them.

    Answers that nobody has taken yet, of which *untaken* tells the number, have places as well: so
    no more searches are made than somebody has use for.
    """

    def __init__(
        self,
        places: int,
        of_one_host: int = OF_ONE_HOST,
        *,
        untaken: Callable[[], int] = lambda: 0,
    ) -> None:
        self._places = places
        self._untaken = untaken
        self._of_one_host = of_one_host
        self._hosts: dict[str, str] = {}  # of each search that has a place
        self._of_host: Counter[str] = Counter()
        self._left = asyncio.Event()

    def __len__(self) -> int:
        """The searches that have a place."""
        return len(self._hosts)

    def __contains__(self, search_id: str) -> bool:
        return search_id in self._hosts

    @property
    def is_full(self) -> bool:
        return len(self._hosts) + self._untaken() >= self._places

    def has_room(self, host: str) -> bool:
        """Whether a host may have one more search."""
        return self._of_host[host] < self._of_one_host if host in self._of_host else True

    def enter(self, search_id: str, host: str) -> None:
        """Give a search its place."""
        self._hosts[search_id] = host
        self._of_host[host] += 1

    def leave(self, search_id: str) -> str:
        """Take the place of a search that is over; its host, '' if it had none."""
        host = self._hosts.pop(search_id, "")
        if host:
            self._of_host[host] -= 1
            if not self._of_host[host]:
                del self._of_host[host]
        self._left.set()
        return host

    def wake(self) -> None:
        """An answer was taken: whoever waits for a change is to look again."""
        self._left.set()

    async def change(self) -> None:
        """Wait until a search leaves."""
        self._left.clear()
        await self._left.wait()

    async def change_or(self, other: asyncio.Future[Any]) -> None:
        """Wait until a search leaves, or something else has come."""
        self._left.clear()
        left = asyncio.ensure_future(self._left.wait())
        try:
            await asyncio.wait({left, other}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            left.cancel()

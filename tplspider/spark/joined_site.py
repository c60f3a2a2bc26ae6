"""The pages that a search asks for, by captures that were looked up for it beforehand.

What was not looked up is noted, and taken for not archived until it is: the search that found out
is made again then.
"""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any

from tplspider.sources.warc import LARGEST, CapturedSite
from tplspider.sources.warc_capture import ALIAS
from tplspider.sources.warc_index import Place
from tplspider.sources.warc_places import LONGEST_HEAD
from tplspider.sources.warc_records import read_at
from tplspider.spark.stored_files import StoredFiles, address_of
from tplspider.web.page import NoPage, Redirect, WebPage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from tplspider.sources.warc_lengths import ScannedRecord

SHALLOW, DEEP = 100, 1000  # pages of a site that are looked up for its pool, and once more
_SPARE = 1 << 20  # bytes that are read where a record is longer than was thought


class NotLookedUpError(LookupError):
    """What is asked for may be there, but was not looked up."""


@dataclass(frozen=True, slots=True)
class StoredPlace(Place):
    """A place with what is needed to read it, and to tell which of several comes first."""

    length: int
    date: int
    own: bool
    target: int | None

    @property
    def rank(self) -> tuple[int, int, int, int, int]:
        """Captures of the search that asks come first, then the best; the order is total."""
        kind = (self.kind > 0) if self.own else self.kind
        return not self.own, kind, -self.date, -self.file, -self.offset


def place_from(row: Mapping[str, Any]) -> StoredPlace:
    """The place in a row of a table."""
    return StoredPlace(
        file=row["file"],
        offset=row["offset"],
        kind=row["kind"],
        key=row["key"],
        length=row["length"],
        date=row["date"],
        own=bool(row["own"]),
        target=row["target"],
    )


class JoinedSite(CapturedSite):
    """Pages by what was looked up for one key page after the other.

    *names* are those of the files, by their numbers.
    """

    def __init__(
        self, stored: StoredFiles, names: Sequence[str], base: str, *, largest: int = LARGEST
    ) -> None:
        super().__init__(largest=largest)
        self.missing: set[int] = set()  # keys that have to be looked up
        self.wants_pool = ""  # a site whose pages have to be
        self.where: dict[str, StoredPlace] = {}  # where pages were, by the address asked for
        self._unfit: set[StoredPlace] = set()
        self._stored = stored
        self._names = names
        self._base = base
        self._last: StoredPlace | None = None  # that was read
        self._known: dict[int, list[StoredPlace]] = {}
        self._pool_of, self._pool, self._is_deep = "", list[StoredPlace](), False
        self._is_final = False

    def close(self) -> None:
        self._stored.close()

    def begin(
        self,
        asked: Collection[int],
        places: Iterable[StoredPlace],
        *,
        pool_of: str = "",
        pool: Iterable[StoredPlace] = (),
        is_deep: bool = False,
        is_final: bool = False,
    ) -> None:
        """Know this, and nothing else. *is_final*: what was not looked up is not archived."""
        self.missing, self.wants_pool, self.where = set(), "", {}
        self._known = {key: [] for key in asked}
        places = sorted({*places}, key=lambda place: place.rank)
        for place in places:
            self._known.setdefault(place.key, []).append(place)
        for place in places:  # where captures of what was asked for lead is looked up with them
            if place.target is not None and place.key in asked:
                self._known.setdefault(place.target, [])
        self._pool_of, self._is_deep, self._is_final = pool_of, is_deep, is_final
        self._pool = sorted(pool, key=lambda place: place.key)

    @property
    def is_unsure(self) -> bool:
        """Whether anything was asked for that was not looked up."""
        return bool(self.missing or self.wants_pool)

    def leave_out_last(self) -> None:
        """Take the page that was read last for unreadable from now on: whoever read it failed."""
        if self._last:
            self._unfit.add(self._last)

    def place_name(self, place: StoredPlace) -> str:
        """The name of the file that a place is in."""
        return self._names[place.file]

    def load(self, url: str) -> WebPage | Redirect | NoPage:
        self._last = None
        found = super().load(url)
        if self._last and isinstance(found, WebPage):
            self.where[url] = self._last
        return found

    def captures(self, key: int) -> Iterator[StoredPlace]:
        known = self._known.get(key)
        if known is None:
            if not self._is_final:
                self.missing.add(key)
            return iter(())
        return iter(known)

    def captures_at(self, key: int, date: int) -> Iterator[StoredPlace]:
        # One that the search itself has made is there twice.
        dated = {
            (place.kind, -place.file, -place.offset): place
            for place in self.captures(key)
            if place.date == date and place.kind != ALIAS
        }
        return (dated[rank] for rank in sorted(dated))

    def pages_of(self, site: str) -> Iterator[Place]:
        is_known = site == self._pool_of
        if is_known:
            yield from self._pool
        is_all = is_known and (self._is_deep or len(self._pool) < SHALLOW)
        if not is_all and not self._is_final:
            self.wants_pool = site
            raise NotLookedUpError(site)

    def _read(self, place: Place) -> ScannedRecord | None:
        assert isinstance(place, StoredPlace)
        if place in self._unfit:
            return None
        self._last = place
        address = self._address(place)
        # No more of a record than a page may have: what is larger is too large either way.
        length = min(place.length, self._largest + 2 * LONGEST_HEAD)
        found = read_at(BytesIO(self._stored.part(address, place.offset, length)), 0, self._largest)
        if found and found.is_cut:  # it says that it is longer than it is: the next one tells
            longer = self._stored.part(address, place.offset, length + _SPARE)
            found = read_at(BytesIO(longer), 0, self._largest)
        return found

    def _address(self, place: Place) -> str:
        return address_of(self._names[place.file], self._base)

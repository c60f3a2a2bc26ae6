"""What was read of a file, kept on disk until it is its turn to be put into the index."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import BinaryIO

    from tplspider.sources.warc_index_rows import Added, Row

_MOST_SITES = 100_000  # whose numbers are kept at hand


class SpooledFile:
    """Takes the captures of a file to *spool*, batch by batch.

    Sites have numbers of its own, in the order in which they come: with each batch come the names
    of those that are new in it.
    """

    def __init__(self, spool: BinaryIO) -> None:
        self.about: tuple[object, ...] = ()
        self._spool = spool
        self._has_rows = False
        self._numbers: dict[str, int] = {}
        self._count = 0
        self._new: list[str] = []

    def add(self, rows: Sequence[Row]) -> None:
        """Put captures in."""
        self._has_rows |= bool(rows)
        self._write(rows)

    def clear(self) -> bool:
        """Begin again; whether anything was put in."""
        found, self._has_rows = self._has_rows, False
        self._write(None)
        return found

    def site(self, name: str) -> int:
        """The number of a site in this file."""
        number = self._numbers.get(name)
        if number is None:
            if len(self._numbers) >= _MOST_SITES:
                self._numbers.clear()  # one that comes again gets another number, which is as good
            number = self._numbers[name] = self._count
            self._count += 1
            self._new.append(name)
        return number

    def _write(self, rows: Sequence[Row] | None) -> None:
        pickle.dump((self._new, rows), self._spool, pickle.HIGHEST_PROTOCOL)
        self._new.clear()


def take_from(spool: BinaryIO, added: Added, seen: Callable[[int], object]) -> None:
    """Do to *added* what was done to the spooled file, in the same order."""
    sites: list[int] = []
    while True:
        try:
            names, rows = pickle.load(spool)  # noqa: S301 - of our own process, a moment ago
        except EOFError:
            return
        sites += map(added.site, names)
        if rows is None:
            added.clear()
        elif rows:
            # By name: half the time of slices.
            added.add(
                [
                    (key, kind, date, offset, sites[site], search)
                    for key, kind, date, offset, site, search in rows
                ]
            )
            seen(rows[-1][3])

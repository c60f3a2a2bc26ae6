"""The signs of pages that were read, kept small: reading a whole pool again takes long."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from typing import TYPE_CHECKING

from tplspider.pools.nearness import Signs
from tplspider.search.companions import path_segments

if TYPE_CHECKING:
    from tplspider.pools.pool import PooledPage

MEGABYTES = 64
_OVERHEAD = 500  # bytes of a page that has nothing


class KnownSigns:
    """Signs by page, packed; those that were not asked for the longest go first."""

    def __init__(self, megabytes: float = MEGABYTES) -> None:
        self._most = megabytes * 1_000_000
        self._size = 0
        self._kept: OrderedDict[tuple[str, bytes], tuple[bytes, bytes, bytes]] = OrderedDict()

    def put(self, page: PooledPage, signs: Signs) -> None:
        """Keep the signs of a page."""
        name = page.url, page.digest
        self._drop(name)
        packed = (
            array("q", signs.links).tobytes(),
            array("q", signs.sentences.keys()).tobytes(),
            array("L", signs.sentences.values()).tobytes(),
        )
        self._kept[name] = packed
        self._size += _size(packed)
        while self._size > self._most:
            self._drop(next(iter(self._kept)))

    def get(self, page: PooledPage) -> Signs | None:
        """The signs of a page, if they are kept."""
        name = page.url, page.digest
        packed = self._kept.get(name)
        if packed is None:
            return None
        self._kept.move_to_end(name)
        links, sentences, letters = array("q", packed[0]), array("q", packed[1]), array("L")
        letters.frombytes(packed[2])
        return Signs(
            page.identity,
            path_segments(page.identity),
            frozenset(links),
            dict(zip(sentences, letters, strict=True)),
        )

    def _drop(self, name: tuple[str, bytes]) -> None:
        packed = self._kept.pop(name, None)
        if packed is not None:
            self._size -= _size(packed)


def _size(packed: tuple[bytes, ...]) -> int:
    return _OVERHEAD + sum(map(len, packed))

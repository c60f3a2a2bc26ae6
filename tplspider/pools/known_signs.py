"""The signs of pages that were read, kept small: reading a whole pool again takes long."""

from __future__ import annotations

import logging
from array import array
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING

from tplspider.pools.nearness import Signs
from tplspider.pools.side_file import SideFile, SideFileError
from tplspider.search.witness import path_segments

if TYPE_CHECKING:
    from tplspider.pools.pool import PooledPage

logger = logging.getLogger(__name__)

MEGABYTES = 2  # in memory ...
WITHOUT_FILE = 32  # times as much, where there cannot be a file ...
FILE_MEGABYTES = 250  # ... and so much there
_OVERHEAD = 250  # bytes of a page that has nothing
_TABLE = "CREATE TABLE signs (name BLOB PRIMARY KEY, packed BLOB NOT NULL)"


class KnownSigns:
    """Signs by page, packed; those that were put first go first, to a temporary file.

    Where there cannot be one they take more memory, and then they are forgotten, as all in the file
    are when it is full: their pages are read again.
    """

    def __init__(
        self, megabytes: float = MEGABYTES, file_megabytes: float = FILE_MEGABYTES
    ) -> None:
        self._most = megabytes * 1_000_000
        self._size = 0
        self._kept: OrderedDict[bytes, bytes] = OrderedDict()
        self._most_in_file = file_megabytes * 1_000_000
        self._in_file = 0  # bytes
        self._file: SideFile | None = SideFile(_TABLE)  # none where there cannot be one

    def put(self, page: PooledPage, signs: Signs) -> None:
        """Keep the signs of a page."""
        name, packed = _name(page), _packed(signs)
        self._size -= _size(self._kept.pop(name, None))
        self._kept[name] = packed
        self._size += _size(packed)
        while self._size > self._most:
            oldest, packed = self._kept.popitem(last=False)
            self._size -= _size(packed)
            self._put_aside(oldest, packed)

    def get(self, page: PooledPage) -> Signs | None:
        """The signs of a page, if they are kept."""
        name = _name(page)
        packed = self._kept.get(name)
        if packed is None:
            packed = self._from_file(name)
        return None if packed is None else _unpacked(packed, page.identity)

    def _put_aside(self, name: bytes, packed: bytes) -> None:
        if self._file is None:
            return
        try:
            if self._in_file > self._most_in_file:
                self._file.run("DELETE FROM signs")
                self._in_file = 0
            self._file.run("INSERT OR REPLACE INTO signs VALUES (?, ?)", name, packed)
            self._in_file += len(packed)
        except SideFileError as error:
            self._fail(error)

    def _from_file(self, name: bytes) -> bytes | None:
        if self._file is None or not self._file.is_open:
            return None
        try:
            found = self._file.run("SELECT packed FROM signs WHERE name = ?", name)
        except SideFileError as error:
            self._fail(error)
            return None
        return found[0][0] if found else None

    def _fail(self, error: SideFileError) -> None:
        logger.warning("Signs of pages stay in memory: a temporary file cannot be used (%s)", error)
        self._file = None
        self._most *= WITHOUT_FILE


def _name(page: PooledPage) -> bytes:
    """What tells a page from others, in few bytes."""
    url = page.url.encode("utf-8", "surrogatepass")
    return blake2b(url + page.digest, digest_size=16).digest()


def _packed(signs: Signs) -> bytes:
    words = signs.sentences
    return array("q", [len(signs.links), *signs.links, *words, *words.values()]).tobytes()


def _unpacked(packed: bytes, identity: str) -> Signs:
    numbers = array("q", packed)
    end = numbers[0] + 1
    middle = (end + len(numbers)) // 2
    sentences = dict(zip(numbers[end:middle], numbers[middle:], strict=True))
    return Signs(identity, path_segments(identity), frozenset(numbers[1:end]), sentences)


def _size(packed: bytes | None) -> int:
    return 0 if packed is None else _OVERHEAD + len(packed)

"""Files that stay open for the next who reads them, so many of them at most."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, BinaryIO, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

MOST = 64  # that are open at a time

Key = TypeVar("Key")


class OpenFiles(Generic[Key]):
    """Files by whatever names them; of too many, the one that was not used for longest goes."""

    def __init__(self) -> None:
        self._files: OrderedDict[Key, BinaryIO] = OrderedDict()  # the last used comes last

    def get(self, key: Key, opened: Callable[[], BinaryIO]) -> BinaryIO:
        """The file with that key, *opened* if it is not open yet."""
        file = self._files.get(key)
        if file is None:
            file = self._files[key] = opened()
            if len(self._files) > MOST:
                self._files.popitem(last=False)[1].close()
        self._files.move_to_end(key)
        return file

    def drop(self, key: Key) -> None:
        """Let go of one, which is of no use any more."""
        if file := self._files.pop(key, None):
            file.close()

    def close(self) -> None:
        """Let go of all files."""
        for file in self._files.values():
            file.close()
        self._files.clear()

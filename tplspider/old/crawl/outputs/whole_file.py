"""A file for rows and records, of which no part of one is left behind."""

from __future__ import annotations

import os
from contextlib import suppress
from io import FileIO
from typing import Any


class WholeFile(FileIO):
    """A file without a buffer: what cannot be written is known at once, and nothing comes later.

    All of what is given is written, or nothing of it.
    """

    def write(self, data: Any) -> int:
        left = memoryview(data)
        try:
            while left:
                left = left[super().write(left) :]
        except OSError:
            with suppress(OSError):  # of a pipe, what is gone is gone
                self.seek(len(left) - len(data), os.SEEK_CUR)
                self.truncate()
            raise
        return len(data)

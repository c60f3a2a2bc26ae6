"""The file that rows are written to, one by one: at every moment it ends with a whole row.

As long as it can be cut off, that is: what a full disk has taken of a row is cut off again, of a
pipe it is not.
"""

from __future__ import annotations

import csv
import json
import os
from contextlib import suppress
from io import StringIO
from typing import TYPE_CHECKING

from tplspider.web.text import safe_cell

if TYPE_CHECKING:
    from typing import Self

    from tplspider.stripping.rows import Row

FORMATS = ("csv", "jl", "json", "jsonl", "jsonlines")


class RowFileError(Exception):
    """The rows cannot be written; it says why in one line."""


class RowFile:
    """Writes rows to an open file, given as its number, in one of the formats of feeds.

    Closing ends the file in good form, whatever came before. Raises RowFileError.
    """

    def __init__(self, descriptor: int, name: str, kind: str, columns: tuple[str, ...]) -> None:
        self.rows = 0
        self._descriptor = descriptor
        self._name = name  # for people
        self._kind = kind
        self._columns = columns
        self._closed = self._failed = False
        try:
            self._whole = os.lseek(descriptor, 0, os.SEEK_CUR)  # where the last row ends
        except OSError:
            self._whole = -1  # a pipe
        if kind == "csv":
            self._write(_csv_line(columns))
        elif kind == "json":
            self._write(b"[")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def add(self, row: Row) -> None:
        """Write a row."""
        if self._kind == "csv":
            cells = [row[name] for name in self._columns]
            data = _csv_line([safe_cell(cell) if isinstance(cell, str) else cell for cell in cells])
        else:
            data = json.dumps(row, ensure_ascii=False).encode()
            if self._kind == "json":
                data = (b",\n" if self.rows else b"\n") + data
            else:
                data += b"\n"
        self._write(data)
        self.rows += 1

    def close(self) -> None:
        """End the file; the descriptor is closed by whoever opened it."""
        if not self._closed:
            self._closed = True
            if self._kind == "json" and not (self._failed and self._whole < 0):
                try:
                    self._write(b"\n]\n")
                except RowFileError:
                    if not self._failed:
                        raise

    def _write(self, data: bytes) -> None:
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[os.write(self._descriptor, rest) :]
        except BaseException as error:
            self._cut_off()
            if not isinstance(error, OSError):
                raise
            self._failed = True
            if isinstance(error, BrokenPipeError):
                raise
            why = error.strerror or str(error)
            raise RowFileError(f"{self._name} cannot be written: {why}") from None
        if self._whole >= 0:
            self._whole += len(data)

    def _cut_off(self) -> None:
        if self._whole >= 0:
            with suppress(OSError):
                os.ftruncate(self._descriptor, self._whole)
                os.lseek(self._descriptor, self._whole, os.SEEK_SET)


def _csv_line(cells: object) -> bytes:
    line = StringIO(newline="")
    csv.writer(line).writerow(cells)  # type: ignore[arg-type]  # cells of any type
    return line.getvalue().encode()

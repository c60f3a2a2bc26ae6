"""A list of key pages, read as it is needed: a million lines take no memory."""

from __future__ import annotations

import os
import stat
import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tplspider.old.crawl.batch.list_csv import Csv
from tplspider.old.crawl.batch.list_formats import Format, JsonLines, PlainText
from tplspider.old.crawl.batch.list_line import ListLine
from tplspider.old.crawl.batch.raw_lines import RawLine, RawLines
from tplspider.old.crawl.outputs.confined import argument_path
from tplspider.old.crawl.outputs.names import without_password

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator
    from typing import Self

__all__ = ["STANDARD_INPUT", "KeyList", "ListLine", "open_list"]

STANDARD_INPUT = "-"

_JSON_LINES = (".jl", ".jsonl", ".jsonlines")


def open_list(name: str, column: str = "", *, confine: bool = False, folder: str = "") -> KeyList:
    """The list that ``urls=name`` stands for, with its addresses in *column* (``url`` if empty).

    Of a file the first line is read already. Raises ValueError, in one line, for a list that
    cannot be read or has nothing in it. Of standard input nothing is read before it is asked for.
    """
    label = f"urls={without_password(name)!r}"
    if name == STANDARD_INPUT and not confine:
        if sys.stdin is None:
            raise ValueError(f"{label}: standard input is closed")
        file = open(sys.stdin.fileno(), "rb", buffering=0, closefd=False)  # noqa: SIM115 - closed with the list
        # Nobody can be told before it is read that plain text has no columns: then it is not.
        return KeyList(label, _Source(file, "list.jl" if column else "", column))
    path = argument_path(label, name, confine=confine, folder=folder)
    try:
        source = _Source(path.open("rb", buffering=0), path.name, column)
    except OSError as error:
        raise ValueError(f"{label}: {error.strerror or error}") from None
    except ValueError as error:  # a NUL in a name, for one
        raise ValueError(f"{label}: {error}") from None
    found = KeyList(label, source, path if source.is_file else None)
    try:
        found.look_ahead()
    except ValueError:
        found.close()
        raise
    return found


class KeyList:
    """An iterable of the lines of a list, once. To take the next one may wait for a pipe."""

    def __init__(self, label: str, source: _Source, path: Path | None = None) -> None:
        self.label = label
        self._source = source
        self._path = path  # of a file that can be read twice
        self._lines = source.lines()

    def __iter__(self) -> Iterator[ListLine]:
        return self

    def __next__(self) -> ListLine:
        return next(self._lines)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def look_ahead(self) -> None:
        """Raise ValueError, in one line, unless there is a first line to begin with."""
        try:
            first = next(self._lines, None)
        except ValueError as error:
            raise ValueError(f"{self.label}: {error}") from None
        if first is None:
            raise ValueError(f"{self.label}: no address in it")
        if first.text.startswith("WARC/"):
            raise ValueError(f"{self.label}: this is a WARC file: scrapy archive searches in it")
        if first.fault and first.fault == self._source.raws.broken:
            raise ValueError(f"{self.label}: {first.fault}")
        self._lines = chain([first], self._lines)

    @property
    def broken(self) -> str:
        """Why the list could not be read to its end; '' if it could, or may still."""
        return self._source.raws.broken

    def count(self) -> int | None:
        """How many lines there are, by a quick look through the file; None if it is a stream."""
        if self._path is None:
            return None
        try:
            file = self._path.open("rb", buffering=0)
            with file:
                return sum(1 for _ in _Source(file, self._path.name, self._source.column).records())
        except (OSError, ValueError):  # it was another file when it was opened
            return None

    def close(self) -> None:
        """Let go of the file; no further lines come."""
        self._lines = iter(())
        self._source.file.close()


class _Source:
    """An open file, and how it is read by its name: by its first line if that tells nothing."""

    def __init__(self, file: io.FileIO, name: str, column: str) -> None:
        status = os.fstat(file.fileno())
        self.file = file
        self.column = column
        self.is_file = stat.S_ISREG(status.st_mode)
        is_gzip = name.lower().endswith(".gz")
        size = status.st_size if self.is_file and not is_gzip else 0
        self.raws = RawLines(file, size=size, compressed=is_gzip)
        self._format: Format[Any] | None = None
        ending = Path(name.lower().removesuffix(".gz")).suffix
        if ending == ".csv":
            self._format = Csv(column)
        elif ending in _JSON_LINES:
            self._format = JsonLines(column)
        elif ending == ".json":
            file.close()
            raise ValueError(f"expected JSON lines ({', '.join(_JSON_LINES)}), not {ending}")

    def records(self) -> Iterator[Any]:
        raws: Iterator[RawLine] = iter(self.raws)
        if self._format is None:
            first = next((raw for raw in raws if raw.fault or raw.data.strip()), None)
            if first is None:
                return
            self._format = self._by_first_line(first)
            raws = chain([first], raws)
        yield from self._format.records(raws)

    def lines(self) -> Iterator[ListLine]:
        for record in self.records():
            assert self._format is not None
            yield self._format.line(record)

    def _by_first_line(self, first: RawLine) -> Format[Any]:
        if first.data.lstrip().startswith(b"{"):
            return JsonLines(self.column)
        if self.column:
            raise ValueError(f"plain text has no column {self.column!r}")
        return PlainText()

"""A list of key pages in CSV.

A record that is out of form is a fault of its first line, and the next line starts another record:
a quote that nobody closes costs one line, not the rest of the list.
"""

from __future__ import annotations

import csv
from collections import deque
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tplspider.old.crawl.batch.list_formats import text_of
from tplspider.old.crawl.batch.list_line import ListLine, faulty, line_with
from tplspider.old.crawl.batch.raw_lines import LONGEST, RawLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_MOST_LINES = 200  # of a record: a quote that is not closed costs as many, and line after line
_DELIMITERS = (",", ";", "\t")  # spreadsheets have others in other countries


@dataclass(frozen=True, slots=True)
class CsvRecord:
    """The lines of a record, and the cells in them; or the first line, and why it will not do."""

    lines: list[RawLine]
    cells: list[str]
    fault: str = ""

    @property
    def raw(self) -> RawLine:
        """The lines as one."""
        first, *more = self.lines
        return RawLine(first.number, b"\n".join(b.data for b in self.lines)) if more else first


class Csv:
    """Records below a header, the address being in *column*."""

    def __init__(self, column: str = "") -> None:
        self._column = column or "url"
        self._names: list[str] = []

    def records(self, raws: Iterator[RawLine]) -> Iterator[CsvRecord]:
        """The records below the header. Raises ValueError for a header that will not do."""
        lines = _Lines(raws)
        delimiter = ""
        for first in lines:
            if not first.fault and not first.data.strip():
                continue
            if delimiter:
                yield _record(first, lines, delimiter)
            else:
                delimiter = self._read_header(first, lines)

    def line(self, record: CsvRecord) -> ListLine:
        if record.fault:
            return faulty(record.raw, record.fault)
        cells, columns = len(record.cells), len(self._names)
        if cells != columns:
            named = dict(zip(self._names, record.cells, strict=False))
            line = line_with(record.raw, record.raw.data.decode(), named, self._column)
            return replace(line, values={}, fault=f"{cells} cells, and the header has {columns}")
        # What a spreadsheet has beyond its columns has no name, and nobody asks for it.
        pairs = zip(self._names, record.cells, strict=True)
        found = {name: cell for name, cell in pairs if name}
        return line_with(record.raw, record.raw.data.decode(), found, self._column)

    def _read_header(self, first: RawLine, lines: _Lines) -> str:
        """Take the names of the columns, and tell what stands between cells."""
        tried = []
        for delimiter in _DELIMITERS:
            tried.append(_record(first, lines, delimiter))
            if self._column in tried[-1].cells:
                break
            lines.push_back(tried[-1].lines[1:])
        else:
            if tried[0].fault:
                raise ValueError(f"line {first.number}, its header: {tried[0].fault}")
            columns = ", ".join(repr(name[:40]) for name in tried[0].cells[:10])
            raise ValueError(
                f"no column {self._column!r} in its header (there are {columns}):"
                " name the one with the addresses by -a column=NAME"
            )
        self._names = tried[-1].cells
        for name in self._names:
            if name and self._names.count(name) > 1:
                raise ValueError(f"two columns are called {name!r}")
        return delimiter


class _Lines:
    """Lines to come, some of them for the second time."""

    def __init__(self, raws: Iterator[RawLine]) -> None:
        self._raws = raws
        self._again: deque[RawLine] = deque()

    def __iter__(self) -> Iterator[RawLine]:
        return self

    def __next__(self) -> RawLine:
        return self._again.popleft() if self._again else next(self._raws)

    def push_back(self, lines: Iterable[RawLine]) -> None:
        self._again.extendleft(reversed(list(lines)))


def _record(first: RawLine, lines: _Lines, delimiter: str) -> CsvRecord:
    """The record that starts with the line *first*."""
    try:
        text = text_of(first)
    except ValueError as error:
        return CsvRecord([first], [], str(error))
    if '"' not in text and len(text) <= csv.field_size_limit():
        return CsvRecord([first], text.split(delimiter))
    taken = [first]
    try:
        cells = next(csv.reader(_texts(taken, lines), delimiter=delimiter, strict=True))
    except (csv.Error, ValueError) as error:
        lines.push_back(taken[1:])
        is_open = str(error) == "unexpected end of data"
        why = "a quote in it is not closed" if is_open else str(error)
        return CsvRecord([first], [], f"not CSV: {why}")
    return CsvRecord(taken, cells)


def _texts(taken: list[RawLine], lines: _Lines) -> Iterator[str]:
    """The lines of one record, as long as more of them are asked for."""
    yield text_of(taken[0]) + "\n"
    size = len(taken[0].data)
    for raw in lines:
        taken.append(raw)
        size += len(raw.data)
        if size > LONGEST or len(taken) > _MOST_LINES:
            raise ValueError(f"the record is longer than 1 MB, or {_MOST_LINES} lines")
        yield text_of(raw) + "\n"

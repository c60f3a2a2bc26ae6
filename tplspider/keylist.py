"""Lists of key pages: text, CSV, TSV or JSON lines, plain or gzipped, read as they are needed."""

from __future__ import annotations

import csv
import gzip
import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from tplspider.arguments import (
    OPTIONS,
    Credentials,
    check_options,
    key_address,
    masked,
    read_credentials,
    without_credentials,
)
from tplspider.search.session import SearchOptions, search_id
from tplspider.web.addresses import host_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

OPTION_PREFIX = "tpl_"  # of columns with options for single lines

_JSON_LINES = (".jl", ".jsonl", ".jsonlines")
_DELIMITERS = ",;\t"  # spreadsheets have others in other countries


@dataclass(frozen=True, slots=True)
class KeyLine:
    """A line of a list: its address, options, and the user's own columns; or what is wrong.

    *row* has all columns of the list, and *input* those that are neither the address nor an option.
    A key page that is no part of a list has the *number* 0.
    """

    number: int = 0
    address: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    input: Mapping[str, Any] | None = None
    fault: str = ""
    mark: bytes = b""  # a digest of the line, to recognize it on the next start
    row: Mapping[str, Any] = field(default_factory=dict)
    text: str = field(default="", repr=False)  # as it stands in the list

    def key_page(self, defaults: SearchOptions) -> KeyPage:
        """The key page of the line; ValueError if there is none."""
        if self.fault:
            raise ValueError(self.fault)
        return key_page(self.address, check_options(self.options, defaults), self)


@dataclass(frozen=True, slots=True)
class KeyPage:
    """A key page to search from: *url* is what is requested, *requested_url* what was given."""

    url: str
    requested_url: str
    options: SearchOptions
    credentials: Credentials | None = field(default=None, repr=False)
    line: KeyLine = field(default_factory=KeyLine, repr=False)

    @property
    def search_id(self) -> str:
        return search_id(self.url, self.options)

    @property
    def host(self) -> str:
        return host_of(self.url).lower()


def key_page(given: str, options: SearchOptions, line: KeyLine = KeyLine()) -> KeyPage:
    """The key page at an address as a user gives it; ValueError if it cannot be one."""
    url = key_address(given)
    shown, credentials = without_credentials(given), read_credentials(given, url)
    return KeyPage(url, shown, options, credentials, line)


def key_line(
    number: int, row: Mapping[str, Any], column: str, marked: str = "", text: str = ""
) -> KeyLine:
    """The line that has these columns."""
    own = {name: value for name, value in row.items() if name != column}
    given = {name: own.pop(OPTION_PREFIX + name) for name in OPTIONS if OPTION_PREFIX + name in own}
    options = {name: v for name, v in given.items() if v is not None and str(v).strip()}
    address, fault = row.get(column), ""
    if not isinstance(address, str) or not address.strip():
        fault = f"no address in the column {column!r}"
    try:
        mark = blake2b(marked.encode(), digest_size=8).digest()
    except UnicodeEncodeError:
        return KeyLine(number, fault="not UTF-8", text=text)
    shown = {**row, column: masked(str(address or ""))} if column in row else row
    return KeyLine(number, str(address or ""), options, own or None, fault, mark, shown, text)


class KeyList:
    """The lines of a list. Opening it reads the first one; ValueError if that cannot be done."""

    def __init__(self, name: str, column: str = "") -> None:
        self.column = column or "url"
        self.path = Path(name)
        self.columns = [self.column]  # of all lines; of JSON lines, those of the first
        self.format = "txt"  # or csv, tsv, jl
        self.header = ""  # of CSV, as it stands there
        self._file: Any = None
        try:
            self._file = _open(self.path)
            self._rows = self._start(name, column)
        except (OSError, EOFError, ValueError) as error:
            self.close()
            raise ValueError(getattr(error, "strerror", None) or str(error)) from None

    def _start(self, name: str, column: str) -> Iterator[KeyLine]:
        """Read the first line, which shows the format."""
        first = next(filter(str.strip, self._file), "")
        if not first:
            raise ValueError("it has no addresses")
        self._file.seek(0)
        ending = Path(name.lower().removesuffix(".gz")).suffix
        if ending in _JSON_LINES:
            with suppress(ValueError, TypeError, RecursionError):
                self.columns = list(json.loads(first))
            self.format = "jl"
            return self._json_lines()
        if ending in (".csv", ".tsv"):
            self.format = ending.removeprefix(".")
            cells = ((each, next(csv.reader([first], delimiter=each), [])) for each in _DELIMITERS)
            return self._csv(next((each for each, names in cells if self.column in names), ","))
        if ending == ".json":
            raise ValueError(f"expected JSON lines ({', '.join(_JSON_LINES)})")
        if column:
            raise ValueError(f"plain text has no column {column!r}")
        return self._text()

    def __iter__(self) -> Iterator[KeyLine]:
        try:
            yield from self._rows
        finally:
            self.close()

    def count(self) -> int:
        """How many lines there are, by reading a file to its end."""
        return sum(1 for _ in self)

    def close(self) -> None:
        if self._file:
            self._file.close()

    def _text(self) -> Iterator[KeyLine]:
        for number, line in enumerate(self._file, start=1):
            if line.strip() and not line.lstrip().startswith("#"):
                yield key_line(number, {"url": line.strip()}, "url", line.rstrip("\r\n"), line)

    def _json_lines(self) -> Iterator[KeyLine]:
        for number, line in enumerate(self._file, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                yield KeyLine(number, fault=f"not JSON: {error}", text=line)
                continue
            if isinstance(row, dict):
                yield key_line(number, row, self.column, line.rstrip("\r\n"), line)
            else:
                yield KeyLine(number, fault="not a JSON object", text=line)

    def _csv(self, delimiter: str) -> Iterator[KeyLine]:
        read: list[str] = []  # of the record at hand
        reader = csv.reader(noting(self._file, read), delimiter=delimiter)
        names = next(row for row in reader if any(map(str.strip, row)))
        self.header = "".join(read).lstrip()
        if self.column not in names:
            shown = ", ".join(names[:10])
            raise ValueError(
                f"no column {self.column!r} in the header ({shown}): name one with -a column=NAME"
            )
        if twice := next((name for name in names if name and names.count(name) > 1), ""):
            raise ValueError(f"two columns are called {twice!r}")
        self.columns = list(filter(None, names))
        return self._records(reader, names, read)

    def _records(self, reader: Any, names: list[str], read: list[str]) -> Iterator[KeyLine]:
        while True:
            number = reader.line_num + 1
            read.clear()
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                yield KeyLine(number, fault=f"not CSV: {error}", text="".join(read))
                continue
            if not any(cells):
                continue
            row = dict.fromkeys(self.columns, "")
            row |= {name: cell for name, cell in zip(names, cells, strict=False) if name}
            line = key_line(number, row, self.column, "\x1f".join(cells), "".join(read))
            if len(cells) != len(names):
                fault = f"{len(cells)} cells, and the header has {len(names)}"
                line = replace(line, fault=line.fault or fault)
            yield line


def noting(lines: Iterable[str], read: list[str]) -> Iterator[str]:
    """The same lines, which *read* has from then on: what a parser of them has consumed."""
    for line in lines:
        read.append(line)
        yield line


def _open(path: Path) -> IO[str]:
    # Bytes that are not UTF-8 are a fault of their line, not of the list.
    how: Any = {"encoding": "utf-8-sig", "errors": "surrogateescape", "newline": ""}
    if path.name.lower().endswith(".gz"):
        return cast("IO[str]", gzip.open(path, "rt", **how))
    return cast("IO[str]", path.open(**how))

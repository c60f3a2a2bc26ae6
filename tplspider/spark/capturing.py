"""Tables of captures, made in Spark's workers: of WARC files, or of a columnar index."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

from tplspider.sources.warc_answers import answer_of, date_of_other
from tplspider.sources.warc_capture import ALIAS, REDIRECT, Capture, kind_of_status
from tplspider.sources.warc_index import stored_key
from tplspider.sources.warc_indexing import NotAddressableError, addressable_captures
from tplspider.sources.warc_records import read_at
from tplspider.spark.stored_files import StoredFiles, address_of
from tplspider.spark.table_columns import CAPTURE, batches_of
from tplspider.web.addresses import identity, place_of, site_name
from tplspider.web.page import WebPage
from tplspider.web.redirects import redirect_target

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa


Row = dict[str, Any]

FAILED, FAULTY = -2, -1  # in place of a kind: a file that nothing is used of, or not all
_BODY = 16 * 1024 * 1024  # bytes of each that are looked at
_BATCH = 1000
_PLACE = ("file", "offset", "length")
_NOTHING: Row = dict.fromkeys(CAPTURE.names)


def key_of(url: str) -> int:
    """The key of an address; ValueError if it is not one."""
    return stored_key(place_of(identity(url)))


@dataclass(frozen=True)
class FileCaptures:
    """The captures of files that come as rows of an ``id``: their place among the names."""

    names: Any  # a Broadcast
    base: str
    folder: str | None  # for copies of files that are elsewhere

    def table(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark is given."""
        return batches_of(self._rows(batches), CAPTURE, _BATCH)

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        with StoredFiles(self.folder) as stored:
            for batch in batches:
                for row in batch.to_pylist():
                    yield from self._of_file(stored, row["id"])

    def _of_file(self, stored: StoredFiles, number: int) -> Iterator[Row]:
        faults: Counter[str] = Counter()
        count, kind, told = 0, FAILED, ""
        name = self.names.value[number]
        address = address_of(name, self.base)
        try:
            with stored.whole(address) as file:
                for row in _captures(file, faults):
                    count += 1
                    yield {**row, "file": number}
        except NotAddressableError:
            told = "records are packed together, and cannot be read one by one"
        except (OSError, ValueError) as error:  # the name may be anything, too
            told = getattr(error, "strerror", "") or str(error)
            told += f" ({address})" if address != name else ""
        else:
            if not count:
                told = "there is no page in it, or it is not a WARC file"
            elif faults:
                told = ", ".join(f"{what}: {times}" for what, times in faults.items())
        if told:
            kind = FAULTY if count else FAILED
            yield {**_NOTHING, "kind": kind, "file": number, "fault": " ".join(told.split())}


def _captures(file: BinaryIO, faults: Counter[str]) -> Iterator[Row]:
    last: tuple[int, Capture] | None = None
    sites: dict[str, str] = {}
    for offset, capture in addressable_captures(file, faults):
        if last:
            yield _row(file, *last, offset - last[0], sites)
        last = (offset, capture) if capture else None
    if last:
        size = os.fstat(file.fileno()).st_size
        yield _row(file, *last, size - last[0], sites)


def _row(file: BinaryIO, offset: int, capture: Capture, length: int, sites: dict[str, str]) -> Row:
    name = capture.identity
    origin = name[: name.find("/", 8)]
    if origin not in sites:
        sites[origin] = site_name(name)
    target, date = None, 0
    if capture.kind in (REDIRECT, ALIAS):
        # Not by the file itself, which somebody is reading.
        record = os.pread(file.fileno(), min(length, _BODY), offset)
        target, date = _target(record, capture.url)
    return {
        "key": stored_key(place_of(name)),
        "kind": capture.kind,
        "date": capture.date,
        "offset": offset,
        "length": length,
        "site": sites[origin],
        "search": capture.search or None,
        "target": target,
        "target_date": date or None,
        "fault": None,
    }


def _target(record: bytes, url: str) -> tuple[int | None, int]:
    """The key of the address that a capture leads to, and the date of the capture that it names.

    A redirect names none: what was captured there is any.
    """
    found = read_at(BytesIO(record), 0, _BODY)
    answer = answer_of(found, url, _BODY) if found else None
    try:
        target = redirect_target(answer) if isinstance(answer, WebPage) else answer
        key = key_of(target) if isinstance(target, str) and target else None
    except ValueError:  # to nowhere
        return None, 0
    return key, date_of_other(found) if found and key is not None and target is answer else 0


def index_captures(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The captures that a columnar index tells of, by rows of addresses and places."""
    return batches_of(
        (_indexed(row) for batch in batches for row in batch.to_pylist()), CAPTURE, _BATCH
    )


def _indexed(row: Row) -> Row:
    place = {name: row[name] for name in _PLACE}
    faulty: Row = {**_NOTHING, **place, "kind": FAULTY}
    if lacking := [name for name in ("url", *_PLACE) if row[name] is None]:
        return {**faulty, "fault": f"a row without {', '.join(lacking)}"}
    if row["offset"] < 0 or row["length"] <= 0:
        return {**faulty, "fault": f"{row['url']!r:.200}: there is no such place"}
    try:
        name = identity(row["url"])
        site = site_name(name)
    except ValueError as error:
        return {**faulty, "fault": f"{row['url']!r:.200}: {error}"}
    # An index that tells of no status is taken for one of pages.
    status = 200 if row["status"] is None else row["status"]
    return {
        **_NOTHING,
        **place,
        "key": stored_key(place_of(name)),
        "kind": kind_of_status(status, row["type"] or ""),
        "date": row["date"] or 0,
        "site": site,
    }

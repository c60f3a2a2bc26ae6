"""Reads WARC files for their index, and tells whether that is in step with them."""

from __future__ import annotations

import json
import os
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

from tplspider.sources.warc_capture import Capture, capture_of
from tplspider.sources.warc_cdxj import REVISIT, marks_of, read_cdxj
from tplspider.sources.warc_copies import copy_of, copy_records
from tplspider.sources.warc_extra import WarcRecordType
from tplspider.sources.warc_index import IndexedFile, stored_key
from tplspider.sources.warc_lengths import ScannedRecord
from tplspider.sources.warc_places import START_OF, kind_of, next_place
from tplspider.sources.warc_records import (
    BROKEN,
    FAULTS,
    check_readable,
    read_at,
    scan,
    strict_records,
)
from tplspider.web.addresses import place_of, site_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from tplspider.sources.warc_index_rows import Added, Row

    # How many captures there are, what is wrong with the file, and some of them.
    _About = tuple[int, dict[str, int], list[tuple[int, int]]]

_BODY = 16 * 1024 * 1024  # bytes of each that are looked at
_FIELDS = 1 << 16  # bytes of warcinfo and metadata
_RESPONSE = WarcRecordType.response
_WARCINFO, _METADATA = WarcRecordType.warcinfo, WarcRecordType.metadata
_BATCH = 1000  # rows that are put in at a time
_BLOCK = 1 << 16  # bytes that are looked at, for whether a record starts there
_SAMPLES = 4  # records by which an index is compared with its file
_MOST_ORIGINS = 10_000  # whose sites are kept at hand


class NotAddressableError(ValueError):
    """Records of a file cannot be read one by one: several are packed together."""


def read_file(
    added: Added,
    path: Path,
    index: Path,
    cdxj: Sequence[Path],
    *,
    seen: Callable[[int], object],
    tell: Callable[[str], object],
) -> None:
    """Read what an index is to know of a file; *seen* is told how many bytes of it are read.

    Where its records are packed together, they are copied first, to a folder beside the index.
    What a *cdxj* says of it is taken if it fits: a line tells if it does not.
    """
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        copy = ""
        about = _from_cdxj(added, file, path, cdxj) if cdxj else None
        by_cdxj, by_itself = marks_of(cdxj)
        mark = by_itself if about is None else by_cdxj
        if about is None and cdxj:
            why = "does not fit it" if added.clear() else "tells nothing of it"
            tell(f"{path}: CDXJ {why}: the file itself is read")
        try:
            about = about or _add(added, file, addressable_captures, seen)
        except NotAddressableError:
            added.clear()
            target = copy_of(index, path)
            target.parent.mkdir(exist_ok=True)
            faults = copy_records(file, target)
            copy = target.name
            with target.open("rb") as copied:
                about = _add(added, copied, addressable_captures, seen)
            about = (about[0], {**faults, **about[1]}, about[2])
        records, found, samples = about
        added.about = (
            status.st_size,
            status.st_mtime_ns,
            records,
            json.dumps(found),
            json.dumps(samples),
            copy,
            mark,
        )


def fits(file: IndexedFile, index: Path) -> bool:
    """Whether a file is still the one that was indexed, as far as a quick look can tell."""
    status = file.path.stat()
    if (status.st_size, status.st_mtime_ns) != (file.size, file.changed):
        return False
    where = copy_of(index, file.path) if file.copy else file.path
    try:
        with where.open("rb") as opened:
            return all(_is_there(opened, offset, key) for offset, key in file.samples)
    except OSError:
        return False


def _is_there(file: BinaryIO, offset: int, key: int) -> bool:
    found = read_at(file, offset, _BODY)
    capture = capture_of(found) if found else None
    return capture is not None and stored_key(place_of(capture.identity)) == key


def _from_cdxj(added: Added, file: BinaryIO, path: Path, cdxj: Sequence[Path]) -> _About | None:
    """Put in what CDXJ says of a file; None if that is nothing, or does not fit it."""
    about = _add(added, file, partial(_captures_of_cdxj, path.name, cdxj), lambda _: None)
    samples = about[2]
    return about if samples and all(_is_there(file, *each) for each in samples) else None


def _captures_of_cdxj(
    name: str, cdxj: Sequence[Path], file: BinaryIO, faults: Counter[str]
) -> Iterator[tuple[int, Capture | None]]:
    for each in cdxj:
        for offset, told in read_cdxj(each, name, faults):
            capture: Capture | None = told
            if told.kind == REVISIT:
                found = read_at(file, offset, 0)
                capture = capture_of(found) if found else None
            yield offset, capture


def _add(
    added: Added,
    file: BinaryIO,
    captures: Callable[[BinaryIO, Counter[str]], Iterator[tuple[int, Capture | None]]],
    seen: Callable[[int], object],
) -> _About:
    """Put the captures of a file in; how many, what is wrong with it, and some of them."""
    faults: Counter[str] = Counter()
    rows: list[Row] = []
    samples: list[tuple[int, int]] = []
    sites: dict[str, int] = {}
    count = 0
    for offset, capture in captures(file, faults):
        if capture is None:
            continue
        name = capture.identity
        origin = name[: name.find("/", 8)]
        site = sites.get(origin)
        if site is None:
            if len(sites) >= _MOST_ORIGINS:
                sites.clear()
            site = sites[origin] = added.site(site_name(name))
        key = stored_key(place_of(name))
        rows.append((key, capture.kind, capture.date, offset, site, capture.search or None))
        count += 1
        if not count & (count - 1):  # the 1st, 2nd, 4th, 8th, ...
            samples = [*samples[-_SAMPLES + 1 :], (offset, key)]
        if len(rows) >= _BATCH:
            added.add(rows)
            rows.clear()
            seen(offset)
    added.add(rows)
    return count, dict(faults), samples


def _all_captures(file: BinaryIO, faults: Counter[str]) -> Iterator[tuple[int, Capture | None]]:
    """What the records of a file are to the index, with their offsets.

    As far as nothing is wrong, no body is looked at. The last record of that part may not be
    whole: from there on, it is read with care.
    """
    place = next_place(file, 0, kind_of(file)) or 0
    if place:
        faults[BROKEN] += 1
    held: tuple[int, Capture | None] | None = None
    is_ours = False
    is_faulty = False
    try:
        for record in strict_records(file, place):
            if held:
                yield held
            place, kind, body = record.stream_pos, record.record_type, b""
            if kind != _RESPONSE and kind in (_WARCINFO, _METADATA):
                body = record.reader.read(_FIELDS)
                is_ours |= kind == _WARCINFO and b"tplspider" in body
            held = place, capture_of(ScannedRecord(place, record, body), is_ours=is_ours)
    except FAULTS as error:
        check_readable(error)
        is_faulty = True
    if held and next_place(file, place, kind_of(file)) != place:
        yield held  # packed with others: nothing could be read from its place on
    for found in scan(file, _BODY, faults, place):
        yield found.offset, capture_of(found)
    if is_faulty and not faults:
        faults[BROKEN] += 1


def addressable_captures(
    file: BinaryIO, faults: Counter[str]
) -> Iterator[tuple[int, Capture | None]]:
    """The captures, as long as each has an offset of its own at which its record starts."""
    start, number, last = START_OF[kind_of(file)], file.fileno(), -1
    block, first, length = b"", 0, len(start)
    for each in _all_captures(file, faults):
        offset = each[0]
        if offset + length > first + len(block):  # small records: several at a time
            block, first = os.pread(number, _BLOCK, offset), offset
        if offset <= last or not block.startswith(start, offset - first):
            raise NotAddressableError
        last = offset
        yield each

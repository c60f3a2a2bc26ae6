"""The records of a WARC file, whatever state the file is in: all that can be read, each once.

FastWARC reads, and fast. At a fault it stops, though, often without a word: then the next record is
looked for, and reading goes on from there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.sources.warc_extra import ArchiveIterator, FastWARCError, WarcRecordType
from tplspider.sources.warc_lengths import (
    ScannedRecord,
    cut_at_next,
    next_in,
    read_body,
    read_with_care,
)
from tplspider.sources.warc_places import (
    LONGEST_HEAD,
    has_bare_ends,
    has_rest,
    kind_of,
    next_place,
)

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator
    from typing import BinaryIO

    from tplspider.sources.warc_extra import WarcRecord

# What may tell something about a page.
TYPES = (
    WarcRecordType.response
    | WarcRecordType.resource
    | WarcRecordType.revisit
    | WarcRecordType.metadata
    | WarcRecordType.conversion
)
CUT, BROKEN, WRONG_LENGTH = "cut off", "unreadable parts", "wrong lengths"

FAULTS = (OSError, FastWARCError, ValueError)


def strict_records(file: BinaryIO, place: int) -> Iterator[WarcRecord]:
    """The records from a place on, as long as nothing is wrong with the file; warcinfo as well.

    It is twice as fast as :func:`scan`, and does not tell whether the last record is whole: that
    is for :func:`scan` to find out, from the last one on. Raises one of FAULTS, or just ends.
    """
    types = TYPES | WarcRecordType.warcinfo
    file.seek(place)
    return ArchiveIterator(file, record_types=types, max_header_len=LONGEST_HEAD)


def scan(
    file: BinaryIO, most: int, faults: Counter[str], start: int = 0
) -> Iterator[ScannedRecord]:
    """All records that may tell something about a page, with *most* bytes of each body and one.

    What is wrong with the file, from *start* on, is counted in *faults*.
    """
    has_any = False
    for found in _scan(file, most, faults, TYPES, start):
        has_any = True
        yield found
    if not has_any:
        # FastWARC goes by the letters of WARC-Type: to those who write it in their own way, its
        # records are of no type that could be asked for.
        faults.clear()
        yield from _scan(file, most, faults, WarcRecordType.any_type, start)


def _scan(
    file: BinaryIO, most: int, faults: Counter[str], types: WarcRecordType, start: int
) -> Iterator[ScannedRecord]:
    kind = kind_of(file)
    place = next_place(file, start, kind)
    is_told = place is not None and place > start  # that there is rubbish before the place
    if is_told:
        faults[BROKEN] += 1
    while place is not None:
        last, is_lenient = place, has_bare_ends(file, place, kind)
        try:
            for record in _records(file, place, types, is_lenient=is_lenient):
                last, is_told = record.stream_pos, False
                if not _parse_http(record):
                    faults[BROKEN] += 1
                    is_told = True
                    break
                found, is_too_long = read_with_care(record, most, file, kind)
                yield found
                if is_too_long:
                    faults[WRONG_LENGTH] += 1
                    is_told = True
                    break
                if found.is_cut:
                    faults[CUT] += 1
                    is_told = True
            else:
                # Members without a record, zeros and other rubbish look like the end, too.
                last = _last_of_all(file, last, is_lenient=is_lenient)
        except FAULTS as error:
            check_readable(error)
            last = _last_of_all(file, last, is_lenient=is_lenient)
            if not is_told:
                faults[BROKEN] += 1
                is_told = True
        place = next_place(file, last + 1, kind)
        if not is_told and (place is not None or has_rest(file, last, kind)):
            faults[BROKEN if place is not None else CUT] += 1
            is_told = True


def check_readable(error: Exception) -> None:
    """Raise an error that is not about what a file holds: then the disk has failed, or is gone."""
    if isinstance(error, OSError) and error.errno is not None:
        raise error


def read_at(file: BinaryIO, offset: int, most: int) -> ScannedRecord | None:
    """The record at an offset, with *most* bytes of its body and one; None where there is none.

    Raises OSError where the file cannot be read.
    """
    try:
        record = next(_records(file, offset, WarcRecordType.any_type, is_lenient=True), None)
        if record is None or record.stream_pos != offset:
            return None
        if not _parse_http(record):
            return None
        found = read_body(record, most)
    except FAULTS as error:
        check_readable(error)
        return None
    if next_in(found.body) >= 0:
        cut_at_next(found, file, kind_of(file))
    return found


def _records(
    file: BinaryIO, place: int, types: WarcRecordType, *, is_lenient: bool
) -> ArchiveIterator:
    """FastWARC's records from a place on; HTTP heads are left to be parsed.

    To be *lenient* is to take lines that end in LF alone. After rubbish, it loses a record then.
    """
    file.seek(place)
    return ArchiveIterator(
        file,
        record_types=types,
        parse_http=False,
        quirks_mode=is_lenient,
        max_header_len=LONGEST_HEAD,
    )


def _parse_http(record: WarcRecord) -> bool:
    """Parse the HTTP head of a record, if it has one; whether that can be done."""
    if not record.is_http:
        return True
    try:
        record.parse_http(quirks_mode=True, max_header_len=LONGEST_HEAD)
    except FAULTS as error:
        check_readable(error)
        return False
    return True


def _last_of_all(file: BinaryIO, place: int, *, is_lenient: bool) -> int:
    """Where the last record starts that FastWARC finds from a place on, of whatever type."""
    try:
        for record in _records(file, place, WarcRecordType.any_type, is_lenient=is_lenient):
            place = record.stream_pos
    except FAULTS as error:
        check_readable(error)
    return place

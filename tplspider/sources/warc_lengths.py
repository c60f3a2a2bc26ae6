"""The body of a record, and whether it is as long as the record says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.sources.warc_extra import WarcHeader
from tplspider.sources.warc_places import LONGEST_HEAD, bytes_behind, start_at

if TYPE_CHECKING:
    from typing import BinaryIO

    from tplspider.sources.warc_extra import WarcRecord

_CHUNK = 1 << 20
_PIECES = (1 << 16, 1 << 19, 1 << 22)  # bytes of a long record that are looked at first
_DIGITS = 19  # more than any length has
_NEXT = b"WARC/"


@dataclass(slots=True)
class ScannedRecord:
    """A record, where it was found, and the start of what is in it, behind an HTTP head.

    It is good until the next one is asked for. *is_cut*: the file ends inside of it.
    """

    offset: int
    record: WarcRecord
    body: bytes
    is_cut: bool = False


def read_with_care(
    record: WarcRecord, most: int, file: BinaryIO, kind: str
) -> tuple[ScannedRecord, bool]:
    """Take the body out of a record, and tell whether it says that it is longer than it is.

    Then it is not read to the end: all records of a file may claim to be as long as they like.
    """
    found = ScannedRecord(record.stream_pos, record, b"")
    length = min(record.content_length, most)
    for size in _PIECES:
        if size >= length:
            break
        found.body += record.reader.read(size - len(found.body))
        if cut_at_next(found, file, kind):
            return found, True
        if len(found.body) < size:  # the file ends here
            break
    found = read_body(record, most, found.body, to_end=True)
    return found, cut_at_next(found, file, kind)


def read_body(
    record: WarcRecord, most: int, begun: bytes = b"", *, to_end: bool = False
) -> ScannedRecord:
    """Take the body out of a record that is *begun*; *to_end*, to see whether all is there."""
    length = record.content_length
    read = record.reader.read
    if 0 < length <= most:
        body = begun + read()
        return ScannedRecord(record.stream_pos, record, body, len(body) < length)
    body = begun + read(most + 1 - len(begun)) if length else b""
    left = length - len(body)
    is_cut = (left > 0 and len(body) <= most) or (not length and not _has_length(record))
    while to_end and left > 0 and not is_cut:
        chunk = read(min(left, _CHUNK))
        left -= len(chunk)
        is_cut = not chunk
    return ScannedRecord(record.stream_pos, record, body, is_cut)


def _has_length(record: WarcRecord) -> bool:
    """Whether a record says how long it is; to FastWARC it is empty otherwise."""
    length = (record.headers.get(WarcHeader.CONTENT_LENGTH) or "").strip()
    return length.isdecimal() and len(length) < _DIGITS


def cut_at_next(found: ScannedRecord, file: BinaryIO, kind: str) -> bool:
    """Whether a record says that it is longer than it is; its body is cut where the next begins."""
    at = next_in(found.body)
    if at < 0 or _is_right(found, file, kind):
        return False
    found.body = found.body[:at].removesuffix(b"\r\n\r\n").removesuffix(b"\n\n")
    found.is_cut = False
    return True


def next_in(body: bytes) -> int:
    """Where another record seems to start in a body; -1 for nowhere.

    Looking for one letter, a rare one, is ten times as fast as looking for several.
    """
    at = body.find(b"W")
    while at >= 0:
        if body.startswith(_NEXT, at) and body[at - 1 : at] == b"\n":
            return at
        at = body.find(b"W", at + 1)
    return -1


def _is_right(found: ScannedRecord, file: BinaryIO, kind: str) -> bool:
    """Whether a record ends where it says: a page may show what a record is."""
    length = (found.record.headers.get(WarcHeader.CONTENT_LENGTH) or "").strip()
    if not length.isdecimal() or len(length) >= _DIGITS:
        return False
    here = file.tell()
    head = start_at(file, found.offset, kind, LONGEST_HEAD)
    ends = [head.find(end) + len(end) for end in (b"\r\n\r\n", b"\n\n") if end in head]
    behind = None
    if ends and head.startswith(_NEXT):  # it is the first of what is packed together
        behind = bytes_behind(file, found.offset, kind, min(ends) + int(length))
    file.seek(here)
    return behind is not None and (behind.lstrip(b"\r\n").startswith(_NEXT) or not behind.strip())

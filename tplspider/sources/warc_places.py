"""Where records start in a WARC file: needed where it is broken, and reading is to go on."""

from __future__ import annotations

import os
import re
import zlib
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from tplspider.sources.warc_extra import ZstdDecompressor, ZstdError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

GZIP, ZSTD, PLAIN = "gzip", "zstd", "plain"
START_OF = {GZIP: b"\x1f\x8b\x08", ZSTD: b"\x28\xb5\x2f\xfd", PLAIN: b""}
_STARTS = {
    GZIP: re.compile(re.escape(START_OF[GZIP])),
    ZSTD: re.compile(re.escape(START_OF[ZSTD])),
    PLAIN: re.compile(rb"WARC/[01]\.[0-9]+\r?\n(?:WARC|Content)-", re.IGNORECASE),
}
_DICTIONARY = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")  # a frame that zstd skips, before the first
LONGEST_HEAD = 1 << 20  # bytes: of a record's own header, and of the HTTP head in it
_BLOCK = 1 << 20  # bytes that are looked through at a time
_OVERLAP = 1 << 10  # longer than what a record starts with
_WARC = b"WARC/"
_BLANK = re.compile(rb"\n\r?\n")
_FIRST = 32  # bytes: more than the first line has
_PROBE = 1 << 18  # bytes that are enough to unpack the first few: a block of zstd has half of it
_GLANCE = 1 << 11  # bytes that are enough for most, and to see that nothing starts there


def kind_of(file: BinaryIO) -> str:
    """How the records of a file are packed; rubbish may stand before the first."""
    file.seek(0)
    start = file.read(8)
    if _STARTS[GZIP].match(start):
        return GZIP
    if _STARTS[ZSTD].match(start) or _DICTIONARY.match(start):
        return ZSTD
    if start.startswith(b"WARC/"):
        return PLAIN
    found = {kind: place for kind in _STARTS if (place := next_place(file, 0, kind)) is not None}
    return min(found, key=found.__getitem__, default=PLAIN)


def next_place(file: BinaryIO, start: int, kind: str) -> int | None:
    """Where the next record starts, at *start* or behind it; None if there is none."""
    pattern = _STARTS[kind]
    place = start
    while True:
        file.seek(place)
        block = file.read(_BLOCK)
        found = map(re.Match.start, pattern.finditer(block))
        for at in _with_heads(block, found) if kind == PLAIN else found:
            if _is_start(file, place + at, kind):
                return place + at
        if len(block) < _BLOCK:
            return None
        place += len(block) - _OVERLAP


def _with_heads(block: bytes, starts: Iterator[int]) -> Iterator[int]:
    """The starts with a blank line before the next one: where there is none, no head ends.

    To FastWARC all of them would be one head, which it would read again from each.
    """
    blank = -1
    for start, following in pairwise(chain(starts, [len(block)])):
        if blank < start:
            found = _BLANK.search(block, start)
            blank = found.start() if found else len(block)
        if blank < following or following == len(block):
            yield start


def has_rest(file: BinaryIO, last: int, kind: str) -> bool:
    """Whether something stands behind the last record of a file: the start of one more, say."""
    if kind == PLAIN:
        file.seek(max(last, file.seek(0, os.SEEK_END) - _FIRST))
        end = file.read().rpartition(b"\n\r\n")[2]
        return bool(end) and (end.startswith(_WARC) or _WARC.startswith(end))
    if kind != GZIP:
        return False
    file.seek(last)
    member, block = zlib.decompressobj(31), file.read(_PROBE)
    is_empty = not block
    try:
        while block and not member.eof:
            member.decompress(block, _BLOCK)
            block = member.unconsumed_tail or file.read(_PROBE)
    except zlib.error:
        return False
    if not member.eof:
        return not is_empty  # the last one is cut off itself
    return bool(member.unused_data.strip(b"\0") or block.strip(b"\0"))


def has_bare_ends(file: BinaryIO, place: int, kind: str) -> bool:
    """Whether the lines of the record at a place end in LF, without CR."""
    return b"\r\n" not in start_at(file, place, kind)


def bytes_behind(file: BinaryIO, place: int, kind: str, length: int) -> bytes | None:
    """The bytes that stand so far behind a place, unpacked; None if it ends before."""
    if kind == PLAIN:
        if place + length > file.seek(0, os.SEEK_END):
            return None
        file.seek(place + length)
        return file.read(_FIRST)
    file.seek(place)
    member = _unpacker(kind)
    last, size = b"", 0
    try:
        while size < length + _FIRST and not member.eof:
            packed = getattr(member, "unconsumed_tail", b"")
            if not packed and getattr(member, "needs_input", True):
                packed = file.read(_PROBE)
                if not packed:
                    break
            piece = member.decompress(packed, min(length + _FIRST - size, _BLOCK))
            last, size = (last + piece)[-_FIRST:], size + len(piece)
    except (zlib.error, ZstdError):
        return None
    return None if size < length else last[len(last) - (size - length) :]


def _is_start(file: BinaryIO, place: int, kind: str) -> bool:
    """Whether a record starts there, whose head ends in what is packed with it."""
    if kind == PLAIN:
        return True
    if not start_at(file, place, kind).startswith(_WARC):
        return False
    file.seek(place)
    head, member = b"", _unpacker(kind)
    try:
        while len(head) < LONGEST_HEAD and not member.eof and (packed := file.read(_GLANCE)):
            head += member.decompress(packed, LONGEST_HEAD)
            if _BLANK.search(head):
                return True
    except (zlib.error, ZstdError, EOFError):
        pass
    return False


def start_at(file: BinaryIO, place: int, kind: str, most: int = _FIRST) -> bytes:
    """The first bytes of the record at a place; b"" where none starts."""
    file.seek(place)
    if kind == PLAIN:
        return file.read(most)
    member = _unpacker(kind)
    try:
        # Much looks like a start and is none: a few bytes are enough to see that.
        found = bytes(member.decompress(file.read(_GLANCE), most))
        if len(found) < most and not member.eof:  # zstd gives nothing before a block is whole
            found += member.decompress(file.read(max(_PROBE, most)), most - len(found))
    except (zlib.error, ZstdError, EOFError):
        return b""
    return found.lstrip(b"\r\n")


def _unpacker(kind: str) -> Any:
    return zlib.decompressobj(31) if kind == GZIP else ZstdDecompressor()

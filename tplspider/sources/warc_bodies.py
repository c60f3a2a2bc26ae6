"""Bodies as they were stored, unpacked: by what they are, not by what their headers say.

Archives store bodies as they came, or unpacked under headers that still tell of packing. What
cannot be unpacked stays as it is, and no body grows beyond a bound, however it was packed.
"""

from __future__ import annotations

import re
import zlib
from typing import TYPE_CHECKING

from tplspider.sources.warc_extra import (
    BrotliDecompressor,
    BrotliError,
    ZstdDecompressor,
    ZstdError,
)
from tplspider.web.page import SNIFFED, is_text

if TYPE_CHECKING:
    from collections.abc import Callable

_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,16})[ \t]*(?:;[^\r\n]{0,4096})?\r?\n")
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 8  # bytes that are unpacked at a time where it is damaged
_STEP = 1 << 10  # bytes that are unpacked first
_PIECES = 1 << 20  # bytes that come out at a time
_LONGEST_SIZE = 64  # of a chunk, as it is written
_MOST_LAYERS = 4  # of packing, one in the other


class TooLargeBodyError(ValueError):
    """Unpacked, it is larger than is allowed."""


class DamagedBodyError(ValueError):
    """It is packed in a way that is known, and cannot be unpacked."""


def unpacked(body: bytes, transfer: str, content: str, most: int) -> tuple[bytes, bool]:
    """A body without its transfer and content encodings, and whether it is all unpacked.

    Raises TooLargeBodyError when it would have more than *most* bytes, and DamagedBodyError.
    """
    if "chunked" in transfer.lower():
        body = joined_chunks(body)
    codings = [name for part in content.split(",") if (name := part.strip().lower())]
    is_done = True
    for coding in reversed(codings[-_MOST_LAYERS:]):
        unpack = _CODINGS.get(coding)
        if unpack is None:  # as in a crawl, nobody knows what it is
            is_done = False
            break
        if found := unpack(body, most):
            body = found
        elif not is_text(body[:SNIFFED]) and len(body) <= most:  # or it was unpacked before
            raise DamagedBodyError
    if len(body) > most:
        raise TooLargeBodyError
    return body, is_done


def joined_chunks(body: bytes) -> bytes:
    """A chunked body in one piece; as it is if it does not look chunked."""
    place = 0
    pieces: list[bytes] = []
    while chunk := _CHUNK.match(body, place):
        size = int(chunk[1], 16)
        if not size:
            return b"".join(pieces)
        place = chunk.end() + size
        pieces.append(body[chunk.end() : place])
        if place >= len(body):  # cut off
            return b"".join(pieces)
        if body[place : place + 2] == b"\r\n":
            place += 2
        elif body[place : place + 1] == b"\n":
            place += 1
        else:
            return body
    rest = body[place : place + _LONGEST_SIZE]
    is_cut = len(rest) < _LONGEST_SIZE and b"\n" not in rest  # within the size of a chunk
    return b"".join(pieces) if pieces and is_cut else body


def _gunzip(body: bytes, most: int) -> bytes:
    pieces, size, place = [], 0, 0
    while body.startswith(_GZIP, place) and size <= most:  # members, one after the other
        piece, place = _inflated(body, 31, most - size, place)
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)


def _deflate(body: bytes, most: int) -> bytes:
    # As it should be, and as some servers do it. Almost anything can be the start of the latter.
    found, _ = _inflated(body, zlib.MAX_WBITS, most)
    if found:
        return found
    raw = zlib.decompressobj(-zlib.MAX_WBITS)
    try:
        found = raw.decompress(body, most + 1)
    except zlib.error:
        return b""
    return found if raw.eof or len(found) > most else b""


def _inflated(body: bytes, window: int, most: int, place: int = 0) -> tuple[bytes, int]:
    """What is packed from a place on, and where it ends; of what is damaged, all before that."""
    try:
        return _undamaged(body, window, most, place)
    except zlib.error:
        packed, pieces, size = zlib.decompressobj(window), [], 0
    for length in (_PIECE, 1):  # the piece with the damage byte by byte
        try:
            while place < len(body) and size <= most:
                before = packed.copy()
                piece = packed.decompress(body[place : place + length], most + 1 - size)
                pieces.append(piece)
                size += len(piece)
                place += length
        except zlib.error:
            packed = before
    return b"".join(pieces), len(body)


def _undamaged(body: bytes, window: int, most: int, place: int) -> tuple[bytes, int]:
    # In steps, as zlib copies what stands behind its end: there may be many members.
    packed, pieces, size, step = zlib.decompressobj(window), [], 0, _STEP
    while place < len(body) and size <= most and not packed.eof:
        given = body[place : place + step]
        pieces.append(packed.decompress(given, most + 1 - size))
        size += len(pieces[-1])
        place += len(given)
        step *= 2
    return b"".join(pieces), place - len(packed.unused_data)


def _unbrotli(body: bytes, most: int) -> bytes:
    packed, size = BrotliDecompressor(), 0
    pieces: list[bytes] = []
    try:
        while not packed.is_finished() and size <= most:
            piece = packed.process(b"" if pieces else body, output_buffer_limit=_PIECES)
            pieces.append(piece)
            size += len(piece)
            if not piece:
                return b""  # cut off, or something else
    except BrotliError:
        return b""
    return b"".join(pieces)


def _unzstd(body: bytes, most: int) -> bytes:
    if not body.startswith(_ZSTD):
        return b""
    try:
        return ZstdDecompressor().decompress(body, most + 1)
    except ZstdError:
        return b""


# Each gives b"" for what is not packed that way, and may give more than is allowed.
_CODINGS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "x-gzip": _gunzip,
    "deflate": _deflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}

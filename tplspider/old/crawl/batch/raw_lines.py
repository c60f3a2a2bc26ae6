"""Lines of bytes, whatever ends them, without ever holding a long one whole."""

from __future__ import annotations

import gzip
import re
import select
import zlib
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import io
    from collections.abc import Iterator

LONGEST = 1_000_000  # bytes; nothing that names a key page takes more

_CHUNK = 65_536
_KEPT = 4_096  # of a line that is too long, to show what it was
_END = re.compile(rb"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class RawLine:
    """A line without its end; of one that has a fault, what there is to show."""

    number: int
    data: bytes
    fault: str = ""
    digest: bytes = b""  # where it is not that of the data

    @property
    def mark(self) -> bytes:
        """What tells this line from others."""
        return self.digest or blake2b(self.data, digest_size=8).digest()


class RawLines:
    """An iterator over the lines of a file, which reads no more than it has to.

    When the file cannot be read any further, *broken* says why, and so does the fault of a last
    line; the part of a line before it does not count.
    """

    def __init__(self, file: io.FileIO, *, size: int = 0, compressed: bool = False) -> None:
        """Read *file* from its start; it is to have at least *size* bytes."""
        self.broken = ""
        self._file = file
        self._size = size
        self._gzip = gzip.GzipFile(fileobj=file) if compressed else None
        self._lines = self._split()

    def __iter__(self) -> Iterator[RawLine]:
        return self._lines

    def __next__(self) -> RawLine:
        return next(self._lines)

    def _split(self) -> Iterator[RawLine]:
        number = 1
        line = _Unfinished()
        is_cut = False  # between \r and what may be its \n
        chunks = self._chunks()
        for chunk in chunks:
            *ended, rest = _END.split(chunk[1:] if is_cut and chunk[:1] == b"\n" else chunk)
            is_cut = chunk.endswith(b"\r")
            for piece in ended:
                yield line.end(number, piece)
                number += 1
            line.add(rest)
        if self.broken:
            yield RawLine(number, bytes(line.data[:_KEPT]), self.broken)
        elif line:
            yield line.end(number)

    def _chunks(self) -> Iterator[bytes]:
        total = 0
        try:
            while chunk := self._read():
                if total == 0:
                    chunk = self._after_bom(chunk)
                total += len(chunk)
                yield chunk
            size = self._file.tell() if self._size else 0
        except EOFError:
            self.broken = "its gzip data is cut off"
        except (gzip.BadGzipFile, zlib.error):  # the first of them for a checksum, too
            self.broken = "its gzip data is damaged" if total else "it is not gzip"
        except OSError as error:
            self.broken = f"it cannot be read any further: {error.strerror or error}"
        else:
            if size < self._size:
                self.broken = "the file has become shorter while it was read"

    def _after_bom(self, chunk: bytes) -> bytes:
        while _BOM.startswith(chunk) and chunk != _BOM and (more := self._read()):
            chunk += more
        return chunk.removeprefix(_BOM)

    def _read(self) -> bytes:
        """What is there, at most a chunk of it; b"" at the end."""
        if self._gzip is not None:
            return self._gzip.read1(_CHUNK)
        while (chunk := self._file.read(_CHUNK)) is None:  # a pipe that somebody made not to block
            select.select([self._file], [], [])
        return chunk


class _Unfinished:
    """A line whose end has not come yet."""

    def __init__(self) -> None:
        self.data = bytearray()
        self._hash: blake2b | None = None  # of a line that is too long, of which we keep the start

    def __bool__(self) -> bool:
        return bool(self.data)

    def add(self, piece: bytes) -> None:
        if self._hash is not None:
            self._hash.update(piece)
            return
        self.data += piece
        if len(self.data) > LONGEST:
            self._hash = blake2b(self.data, digest_size=8)
            del self.data[_KEPT:]

    def end(self, number: int, piece: bytes = b"") -> RawLine:
        """The line, which *piece* ends; then another one starts."""
        if not self.data:
            return RawLine(number, piece)  # most of them
        self.add(piece)
        data, digest = bytes(self.data), self._hash
        self.data.clear()
        self._hash = None
        if digest is None:
            return RawLine(number, data)
        return RawLine(number, data, "the line is longer than 1 MB", digest.digest())

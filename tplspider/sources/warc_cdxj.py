"""CDXJ: an index that other tools have made, read to spare us the files themselves.

Its keys (SURT) fold what we tell apart: capitals, a slash at the end. So it tells where records
are, and no more; the address of each is the ``url`` beside it, and that of the record itself.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from errno import EIO
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from tplspider.sources.warc_capture import Capture, capture_date, clean_target, kind_of_status
from tplspider.web.addresses import identity

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import IO

BAD_LINES = "lines of CDXJ out of form"
REVISIT = -1  # in the place of a kind: only the record itself tells
_MIME_OF_REVISITS = "warc/revisit"
_NOT = "not "
_LOOKED_AT = 100  # lines, to see what a file is
_LONGEST = 1 << 20  # bytes of a line
_OUT_OF_FORM = (
    ValueError,
    TypeError,
    KeyError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def is_cdxj(name: str) -> bool:
    """Whether a file is a CDXJ by its name."""
    return name.lower().removesuffix(".gz").endswith((".cdxj", ".cdx.json"))


def has_cdxj(path: Path) -> bool:
    """Whether a file is a CDXJ by its first lines. OSError is for the file."""
    with _open(path) as lines:
        for _ in range(_LOOKED_AT):
            line = _next_line(lines, path)
            if line.startswith(b"!") or not line.strip():
                continue
            try:
                if isinstance(json.loads(line.decode().split(" ", 2)[2]), dict):
                    return True
            except (ValueError, IndexError, RecursionError):
                continue
    return False


def marks_of(cdxj: Sequence[Path]) -> tuple[str, str]:
    """What an index says of a file that was indexed by these; and of one that they do not fit."""
    if not cdxj:
        return "", ""
    digests = (_digest(path, path.stat().st_size, path.stat().st_mtime_ns) for path in cdxj)
    digest = sha256("".join(sorted(digests)).encode()).hexdigest()
    return digest, f"{_NOT}{digest}"


def is_marked_for(mark: str, cdxj: Sequence[Path]) -> bool:
    """Whether a file with that mark would be indexed in the same way by these."""
    is_by_itself = not mark or mark.startswith(_NOT)
    return mark in marks_of(cdxj) if cdxj else is_by_itself


@lru_cache(maxsize=1000)
def _digest(path: Path, _size: int, _changed: int) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def read_cdxj(path: Path, file: str, faults: Counter[str]) -> Iterator[tuple[int, Capture]]:
    """The captures in the WARC file of that name, with their offsets, by what a CDXJ says.

    Lines that are out of form are counted in *faults*. OSError is for the CDXJ itself.
    """
    name = os.fsencode(file)
    with _open(path) as lines:
        while line := _next_line(lines, path):
            if name not in line or line.startswith(b"!"):
                continue
            try:
                found = _capture(line, file)
            except _OUT_OF_FORM:
                faults[BAD_LINES] += 1
                continue
            if found:
                yield found


def _open(path: Path) -> IO[bytes] | gzip.GzipFile:
    return gzip.open(path) if path.name.lower().endswith(".gz") else path.open("rb")


def _next_line(lines: IO[bytes] | gzip.GzipFile, path: Path) -> bytes:
    try:
        return lines.readline(_LONGEST)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise OSError(EIO, f"it cannot be unpacked ({error})", str(path)) from None


def _capture(line: bytes, file: str) -> tuple[int, Capture] | None:
    _, time, text = line.decode().split(" ", 2)
    told = json.loads(text)
    if PurePosixPath(told["filename"]).name != file:
        return None
    offset = int(told["offset"])
    if not 0 <= offset < 1 << 62:
        raise ValueError(offset)
    url = clean_target(told["url"])
    if not url[:8].lower().startswith(("http://", "https://")):
        return None
    mime = str(told.get("mime") or "")
    status = str(told.get("status") or "")
    kind = REVISIT
    if mime != _MIME_OF_REVISITS:
        kind = kind_of_status(int(status) if status.isdecimal() else None, mime)
    return offset, Capture(url, identity(url), kind, capture_date(time))

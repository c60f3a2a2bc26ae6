"""Copies of files whose records cannot be read one by one, because they are packed together."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from time import time
from typing import TYPE_CHECKING

from tplspider.sources.warc_records import scan
from tplspider.web.addresses import place_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

    from tplspider.sources.warc_lengths import ScannedRecord


_ABANDONED = 3600.0  # seconds that nothing was written: whoever copies writes all the time
COPIED = 16 * 1024 * 1024  # bytes of each record, and one more of those that are longer


def copy_of(index: Path, path: Path) -> Path:
    """Where the records of a file are copied to."""
    name = f"{place_of(os.path.realpath(path)):016x}.warc.gz"
    return index.with_name(f"{index.name}.copies") / name


def copy_records(file: BinaryIO, target: Path) -> dict[str, int]:
    """Write the records of a file to another, each packed by itself; what is wrong with the file.

    The copy appears when it is whole.
    """
    faults: Counter[str] = Counter()
    for old in target.parent.glob(f"{target.name}.*.part"):  # of one that was killed
        if time() - old.stat().st_mtime > _ABANDONED:
            old.unlink(missing_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")  # others may copy it, too
    try:
        with part.open("wb") as copy:
            for found in scan(file, COPIED, faults):
                if not found.is_cut:
                    copy.write(gzip.compress(_as_bytes(found), 1, mtime=0))
        part.replace(target)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return dict(faults)


def _as_bytes(found: ScannedRecord) -> bytes:
    http = found.record.http_headers
    content = found.body
    if http is not None:
        lines = [http.status_line_bytes or b"", *_lines(http.items_bytes())]
        content = b"\r\n".join([*lines, b"", content])
    headers = [
        (name, value)
        for name, value in found.record.headers.items_bytes()
        if name.lower() != b"content-length"
    ]
    length = b"Content-Length: %d" % len(content)
    return b"\r\n".join([b"WARC/1.0", *_lines(headers), length, b"", content, b"", b""])


def _lines(headers: object) -> Iterator[bytes]:
    return (name + b": " + value for name, value in headers)  # type: ignore[attr-defined]

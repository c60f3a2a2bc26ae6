"""The file of a pool: a line of JSON, the packed pages, and a checksum of all that.

Reading one runs no code that is in it, and takes no more memory than its size allows, however it
was made: sizes are told first and held to.
"""

from __future__ import annotations

import json
import os
import stat
import zlib
from hashlib import blake2b
from typing import IO, TYPE_CHECKING, Any

from tplspider.pools.pool import LARGEST, PooledPage, page_identity, page_site
from tplspider.web.addresses import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

FORMAT, VERSION = "tplspider pool", 1
LARGEST_POOL = 512_000_000  # bytes of HTML of all pages
_LONGEST_HEADER = 8_000_000
_CHECKSUM = 32  # bytes
_LATEST = 1e11  # seconds: some thousand years from now
# A link is not followed, and a pipe is not waited for; Windows knows neither.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_READ |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class PoolFileError(ValueError):
    """A file that cannot be used as the pool of a site: it says why in one line."""


def write_pool(file: IO[bytes], site: str, pages: Iterable[PooledPage]) -> None:
    """Write pages, as many of them as a file may have."""
    kept, room = [], LARGEST_POOL
    for page in pages:
        if page.size <= min(LARGEST, room):
            room -= page.size
            kept.append(page)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "site": site,
        "pages": [
            {
                "url": page.url,
                "taken": page.taken,
                "size": page.size,
                "packed": len(page.packed),
                "digest": page.digest.hex(),
            }
            for page in kept
        ],
    }
    checksum = blake2b(digest_size=_CHECKSUM)
    for part in (json.dumps(header).encode() + b"\n", *(page.packed for page in kept)):
        checksum.update(part)
        file.write(part)
    file.write(checksum.digest())


def read_pool(path: Path, site: str) -> list[PooledPage]:
    """The pages in a file.

    Raises PoolFileError if it is not the pool of that site, OSError if it cannot be read.
    """
    if path.is_symlink():  # where the system cannot refuse to follow it
        raise PoolFileError("it is a symbolic link")
    descriptor = os.open(path, _READ)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise PoolFileError("it is not a file")
        with open(descriptor, "rb", closefd=False) as file:
            return _read_file(file, found.st_size, site)
    finally:
        os.close(descriptor)


def _read_file(file: IO[bytes], size: int, site: str) -> list[PooledPage]:
    if size > LARGEST_POOL + _LONGEST_HEADER:
        raise PoolFileError(f"it is damaged ({size} bytes are too many)")
    try:
        return [*_read(file, size, site)]
    except PoolFileError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, zlib.error):
        raise PoolFileError("it is damaged (out of form)") from None


def _read(file: IO[bytes], size: int, site: str) -> Iterator[PooledPage]:
    line = file.readline(_LONGEST_HEADER)
    header = json.loads(line) if line.endswith(b"\n") else None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise PoolFileError("it is not the file of a pool, or damaged")
    if header["version"] != VERSION:
        found = f"{header['version']!r:.20}"
        raise PoolFileError(f"it is of another version ({found}, and here it is {VERSION})")
    rows = header["pages"]
    sizes = [_natural(row["packed"]) for row in rows]
    if len(line) + sum(sizes) + _CHECKSUM != size:
        raise PoolFileError("it is damaged (cut off, or something was added)")
    checksum = blake2b(line, digest_size=_CHECKSUM)
    parts = [file.read(each) for each in sizes]
    for part in parts:
        checksum.update(part)
    if checksum.digest() != file.read(_CHECKSUM):
        raise PoolFileError("it is damaged (the checksum is wrong)")
    unpacked = [_natural(row["size"]) for row in rows]
    if max(unpacked, default=0) > LARGEST or sum(unpacked) > LARGEST_POOL:
        raise PoolFileError("it is damaged (its pages are too large)")
    if header["site"] != site:
        raise PoolFileError(f"it is of another site ({header['site']!r:.60})")
    for row, packed in zip(rows, parts, strict=True):
        yield _page(row, packed, site)


def _page(row: dict[str, Any], packed: bytes, site: str) -> PooledPage:
    url, size = row["url"], _natural(row["size"])
    if not isinstance(url, str) or page_site(url) != site:
        raise PoolFileError("it is damaged (a page of another site)")
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(packed, size + 1)  # and not a byte more, whatever is in there
    digest = blake2b(text, digest_size=16).digest()
    rest = unpacker.unconsumed_tail or unpacker.unused_data
    if len(text) != size or not unpacker.eof or rest or digest.hex() != row["digest"]:
        raise PoolFileError("it is damaged (a page is not what it says)")
    text.decode("utf-8")
    identity = page_identity(url)
    return PooledPage(
        url, identity, place_of(identity), digest, packed, _moment(row["taken"]), size
    )


def _moment(value: object) -> float:
    """A time by the clock; of a clock that is far off, or of none, there is nothing to believe."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LATEST:
        raise PoolFileError("it is damaged (out of form)")
    return float(value)


def _natural(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(value)
    return value

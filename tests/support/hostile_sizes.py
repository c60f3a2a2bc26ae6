"""Misbehaviour by size: bombs, long bodies, and trees that are too many, too deep or too wide."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from string import ascii_letters, digits

import brotli  # type: ignore[import-untyped]  # it has no types

from tests.support.hostile_http import CHUNKED, OK, encoded, raw, stream
from tests.support.hostile_server import Exchange, Trap

Answer = Callable[[Exchange], None]

MEGABYTE = 1 << 20
GIGABYTE = 1 << 30
PARTS = GIGABYTE // MEGABYTE
BLOCK = 1 << 17


def repeated(*runs: tuple[str, int]) -> Answer:
    """A page made of texts, each so many times; sent piecemeal."""

    def parts() -> Iterator[bytes]:
        length = sum(len(unit) * count for unit, count in runs)
        yield OK + f"Content-Length: {length}\r\n\r\n".encode()
        for unit, count in runs:
            at_once = max(1, BLOCK // len(unit))
            whole, rest = divmod(count, at_once)
            block = unit.encode() * at_once
            for _ in range(whole):
                yield block
            yield unit.encode() * rest

    return lambda exchange: exchange.send_all(parts())


@cache
def gzip_bomb() -> bytes:
    """A gigabyte of zeros in one stream. Its checksum is wrong, but nobody should get that far."""
    compressor = zlib.compressobj(9, wbits=-15)
    part = compressor.compress(bytes(MEGABYTE)) + compressor.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + part * PARTS + compressor.flush() + bytes(8)


def brotli_bomb() -> bytes:
    compressor = brotli.Compressor(quality=1)
    first, again = (compressor.process(bytes(MEGABYTE)) + compressor.flush() for _ in range(2))
    return bytes(first + again * (PARTS - 1) + compressor.finish())


def zstd_bomb() -> bytes:
    """Frames of a megabyte, each of blocks that say: this byte, 128 kB of it."""
    block, last = (
        ((BLOCK << 3) | (1 << 1) | end).to_bytes(3, "little") + b"\0" for end in (False, True)
    )
    head = b"\x28\xb5\x2f\xfd\xa0" + MEGABYTE.to_bytes(4, "little")
    return (head + block * (MEGABYTE // BLOCK - 1) + last) * PARTS


LINKS = "".join(f"<a href={name}>" for name in ascii_letters + digits)

TRAPS = [
    Trap("/bomb-gzip.html", "too-large", encoded("gzip", gzip_bomb())),
    Trap("/bomb-br.html", "too-large", encoded("br", brotli_bomb())),
    Trap("/bomb-zstd.html", "too-large", encoded("zstd", zstd_bomb())),
    Trap("/large.html", "too-large", raw(OK + b"Content-Length: 52428800\r\n\r\n<p>")),
    Trap(
        "/large-chunked.html",
        "too-large",
        stream(CHUNKED, b"10000\r\n" + b"x" * 0x10000 + b"\r\n", 800),
    ),
    # Trees take far more room than the text they are made from; both are under 10 MiB.
    Trap("/links.html", "too-large", repeated(("A million links", 1), (LINKS, 16_130))),
    Trap("/elements.html", "too-large", repeated(("<p>x", 2_600_000))),
    Trap("/nested.html", "page", repeated(("Deep", 1), ("<div>", 100_000))),
    Trap("/attribute.html", "page", repeated(("<i title=", 1), ("x", 10_000_000), (">Wide", 1))),
    Trap("/dots.html", "page", repeated(("<a href=", 1), ("../", 500_000), ("x>Up", 1))),
    # Far down in the tree, text that reads like that of a script.
    Trap(
        "/hidden.html",
        "page",
        repeated(("Hidden", 1), ("<div>x", 2000), ("<i>x</i>", 90_000), ("<script>x</script>", 1)),
    ),
]

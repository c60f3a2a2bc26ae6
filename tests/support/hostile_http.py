"""Misbehaviour below the page: time-outs, broken HTTP, statuses, encodings, bombs, giant trees."""

import gzip
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import repeat
from string import ascii_letters, digits

import brotli  # type: ignore[import-untyped]  # it has no types

from tests.support.hostile_pages import html, page
from tests.support.hostile_server import Exchange, Trap

Answer = Callable[[Exchange], None]

LATE = 30  # seconds: long after the client has given up
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
DATES = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sat, 99 Nov 99999 99:99:99 +9999")
RETRY_AFTER = ("120", "soon", "nan", "9" * 400, *DATES)


def raw(data: bytes) -> Answer:
    return lambda exchange: exchange.send_all([data])


def stall(data: bytes) -> Answer:
    def answer(exchange: Exchange) -> None:
        exchange.send(data)
        exchange.wait(LATE)

    return answer


def dribble(exchange: Exchange) -> None:
    exchange.send(OK + b"Content-Length: 1000\r\n\r\n")
    for _ in range(LATE * 5):
        exchange.send(b"x")
        time.sleep(0.2)


def reset(data: bytes) -> Answer:
    def answer(exchange: Exchange) -> None:
        exchange.send(data)
        if data:
            time.sleep(0.2)  # a reset overtakes what is still under way
        exchange.reset()

    return answer


def stream(head: bytes, part: bytes, times: int) -> Answer:
    """A long response that is nowhere in memory as a whole."""

    def parts() -> Iterator[bytes]:
        yield head
        yield from repeat(part, times)

    return lambda exchange: exchange.send_all(parts())


def status(line: str, *headers: str) -> Answer:
    return lambda exchange: exchange.answer(html(exchange.path), line, *headers)


def encoded(name: str, body: bytes) -> Answer:
    return lambda exchange: exchange.answer(body, "200 OK", f"Content-Encoding: {name}")


def second_time(first: Answer) -> Answer:
    return lambda exchange: (first if exchange.attempt == 1 else page())(exchange)


TIMEOUTS = [
    Trap("/silent.html", "timeout", stall(b"")),
    Trap("/slow-body.html", "timeout", stall(OK + b"Content-Length: 99\r\n\r\n<p>only this")),
    Trap("/dribble.html", "timeout", dribble),
]
CONNECTIONS = [
    Trap("/empty-reply.html", "connection", raw(b"")),
    Trap("/reset.html", "connection", reset(b"")),
    Trap("/closed-in-header.html", "bad-response", raw(OK + b"X-Half")),
    Trap("/reset-in-body.html", "bad-response", reset(OK + b"Content-Length: 99\r\n\r\n<p>so")),
    Trap("/flaky.html", "page", second_time(raw(b""))),
]
STATUS_LINES = [
    Trap("/http-0.9.html", "bad-response", raw(html("As it was in 1991"))),
    Trap("/http-1.0.html", "page", raw(b"HTTP/1.0 200 OK\r\n\r\n" + html("1996"))),
    Trap("/garbage.html", "bad-response", raw(b"\x00\xff garbage\r\n\r\n" * 99)),
    Trap("/tls.html", "bad-response", raw(b"\x15\x03\x03\x00\x02\x02\x28")),
    Trap("/status-line.html", "bad-response", raw(b"HTTP/1.1 200 " + b"x" * 99_000)),
    Trap("/continue.html", "page", raw(b"HTTP/1.1 100 Go on\r\n\r\n" * 3 + OK + b"\r\n<p>Went on")),
]
HUGE = OK + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n<p>"
HEADERS = [
    Trap("/header-long.html", "bad-response", raw(OK + b"X-Long: " + b"x" * 99_000 + b"\r\n\r\n")),
    Trap("/headers-endless.html", "bad-response", stream(OK, b"X-Again: and again\r\n" * 99, 99)),
    Trap("/header-name.html", "bad-response", status("200 OK", "X-\xff: a name of bytes")),
    Trap("/header-bytes.html", "page", status("200 OK", "X-Bytes: \xff\x00\xfe")),
    Trap("/length-negative.html", "bad-response", raw(OK + b"Content-Length: -5\r\n\r\n<p>x")),
    Trap("/length-huge.html", "too-large", raw(HUGE)),
]
BODIES = [
    Trap("/empty.html", "bad-response", lambda exchange: exchange.answer()),
    Trap("/truncated.html", "bad-response", raw(OK + b"Content-Length: 99\r\n\r\n<p>only this")),
    # What comes after the body must not be taken for the answer to the next request.
    Trap("/over-long.html", "page", lambda each: each.answer(b"<p>Full</p>" + OK, length=11)),
    Trap("/chunk-garbage.html", "bad-response", raw(CHUNKED + b"4\r\n<p>x\r\nzz\r\n<p>y\r\n0\r\n")),
    Trap("/chunk-no-end.html", "bad-response", raw(CHUNKED + b"4\r\n<p>x\r\n")),
]
ENCODINGS = [
    Trap("/bad-gzip.html", "bad-response", encoded("gzip", gzip.compress(b"")[:10] + b"\xff" * 9)),
    Trap("/bad-deflate.html", "bad-response", encoded("deflate", b"\xffno deflate")),
    Trap("/half-gzip.html", "page", encoded("gzip", gzip.compress(html("Half of it"))[:-12])),
    Trap("/unknown-encoding.html", "bad-response", encoded("lzw", b"\x1f\x9d\x90\x00\x01\x02")),
    Trap("/wrong-header.html", "page", encoded("UTF-8", html("A charset that is not an encoding"))),
]
STATUSES = [
    *(
        Trap(f"/status-{code}.html", f"http-{code}", status(f"{code} Bad Luck"))
        for code in (300, 401, 404, 407, 418, 429, 451, 502, 999)
    ),
    *(
        Trap(f"/status-{code}.html", f"http-{code}", raw(f"HTTP/1.1 {code} No\r\n\r\n".encode()))
        for code in (204, 304)
    ),
    Trap("/status-206.html", "http-206", status("206 Part", "Content-Range: bytes 0-9/99")),
    *(
        Trap(f"/wait-{code}.html?{i}", f"http-{code}", status(f"{code} No", f"Retry-After: {wait}"))
        for code in (429, 503)
        for i, wait in enumerate(RETRY_AFTER)
    ),
    Trap("/wait.html", "page", second_time(status("503 Later", "Retry-After: 1"))),
]

TRAPS = [*TIMEOUTS, *CONNECTIONS, *STATUS_LINES, *HEADERS, *BODIES, *ENCODINGS, *STATUSES]


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
CHUNK = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
SCRIPT = ("<script>x</script>", 1)

SIZES = [
    Trap("/bomb-gzip.html", "too-large", encoded("gzip", gzip_bomb())),
    Trap("/bomb-br.html", "too-large", encoded("br", brotli_bomb())),
    Trap("/bomb-zstd.html", "too-large", encoded("zstd", zstd_bomb())),
    Trap("/large.html", "too-large", raw(OK + b"Content-Length: 52428800\r\n\r\n<p>")),
    Trap("/large-chunked.html", "too-large", stream(CHUNKED, CHUNK, 800)),
    # Trees take far more room than the text they are made from; both are under 10 MiB.
    Trap("/links.html", "too-large", repeated(("A million links", 1), (LINKS, 16_130))),
    Trap("/elements.html", "too-large", repeated(("<p>x", 2_600_000))),
    Trap("/nested.html", "page", repeated(("Deep", 1), ("<div>", 100_000))),
    Trap("/attribute.html", "page", repeated(("<i title=", 1), ("x", 10_000_000), (">Wide", 1))),
    Trap("/dots.html", "page", repeated(("<a href=", 1), ("../", 500_000), ("x>Up", 1))),
    # Far down in the tree, text that reads like that of a script.
    Trap("/hidden.html", "page", repeated(("<div>x", 2000), ("<i>x</i>", 90_000), SCRIPT)),
]

"""Misbehaviour below the page: time-outs, broken HTTP, bad statuses, bad encodings of bodies."""

import gzip
import time
from collections.abc import Callable, Iterator
from itertools import repeat

from tests.support.hostile_pages import html, page
from tests.support.hostile_server import Exchange, Trap

Answer = Callable[[Exchange], None]

LATE = 30  # seconds: long after the client has given up
OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
RETRY_AFTER = (
    "120",
    "soon",
    "nan",
    "9" * 400,
    "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sat, 99 Nov 99999 99:99:99 +9999",
)


def raw(data: bytes) -> Answer:
    return lambda exchange: exchange.send_raw(data)


def stall(data: bytes) -> Answer:
    """Send the beginning of a response, and never the rest."""

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
    """A page, but only for those who ask twice."""
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
HEADERS = [
    Trap("/header-long.html", "bad-response", raw(OK + b"X-Long: " + b"x" * 99_000 + b"\r\n\r\n")),
    Trap("/headers-endless.html", "bad-response", stream(OK, b"X-Again: and again\r\n" * 99, 99)),
    Trap("/header-name.html", "bad-response", status("200 OK", "X-\xff: a name of bytes")),
    Trap("/header-bytes.html", "page", status("200 OK", "X-Bytes: \xff\x00\xfe")),
    Trap("/length-negative.html", "bad-response", raw(OK + b"Content-Length: -5\r\n\r\n<p>x")),
    Trap(
        "/length-huge.html", "too-large", raw(OK + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n<p>")
    ),
]
BODIES = [
    Trap("/empty.html", "bad-response", lambda exchange: exchange.answer()),
    Trap("/truncated.html", "bad-response", raw(OK + b"Content-Length: 99\r\n\r\n<p>only this")),
    # What comes after the body must not be taken for the answer to the next request.
    Trap(
        "/over-long.html", "page", lambda exchange: exchange.answer(b"<p>Full</p>" + OK, length=11)
    ),
    Trap(
        "/chunk-garbage.html",
        "bad-response",
        raw(CHUNKED + b"4\r\n<p>x\r\nzz\r\n<p>y\r\n0\r\n\r\n"),
    ),
    Trap("/chunk-no-end.html", "bad-response", raw(CHUNKED + b"4\r\n<p>x\r\n")),
]
ENCODINGS = [
    Trap(
        "/bad-gzip-data.html",
        "bad-response",
        encoded("gzip", gzip.compress(b"")[:10] + b"\xff" * 9),
    ),
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
        Trap(
            f"/wait-{code}.html?{i}",
            f"http-{code}",
            status(f"{code} Later", f"Retry-After: {wait}"),
        )
        for code in (429, 503)
        for i, wait in enumerate(RETRY_AFTER)
    ),
    Trap("/wait.html", "page", second_time(status("503 Later", "Retry-After: 1"))),
]

TRAPS = [*TIMEOUTS, *CONNECTIONS, *STATUS_LINES, *HEADERS, *BODIES, *ENCODINGS, *STATUSES]

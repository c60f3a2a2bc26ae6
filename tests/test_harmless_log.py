"""Whatever a website sends, no control character reaches the terminal or the log file."""

from __future__ import annotations

import logging
import subprocess
import sys
import unicodedata
from io import StringIO
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import PROJECT, SETTINGS
from tests.support.hostile_pages import html
from tests.support.hostile_server import Exchange, HostileServer
from tplspider.old.crawl.harmless_log import guard_log, harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Answer = Callable[[Exchange], None]

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
# A title for the window, red, the screen cleared by one character, backwards, back to the margin.
EVIL = f"\x1b]0;owned\x07\x1b[31m\x9b2J{BIDI}evil\x7f\x08\x00\r"
SPELLED = r"\x1b]0;owned\x07\x1b[31m\x9b2J\u202a"


def controls(text: str) -> set[str]:
    """The characters of a text that are not for a terminal."""
    odd = {c for c in text if unicodedata.category(c) in ("Cc", "Cs") or c in BIDI}
    return odd - {"\n", "\t"}


def raw(*lines: str) -> Answer:
    head = "\r\n".join(lines).encode() + b"\r\n\r\n"
    return lambda exchange: exchange.send_raw(head + html(exchange.path))


def page(exchange: Exchange) -> None:
    exchange.answer(html(f"{exchange.path} {EVIL}", f"<title>{EVIL}</title>"))


OK = "HTTP/1.1 200 OK"
ANSWERS: dict[str, Answer] = {
    "/robots.txt": raw(OK, "Content-Type: text/plain", "", f"User-agent: *\n{EVIL}: {EVIL}\n"),
    "/encoding": raw(OK, "Content-Type: text/html", f"Content-Encoding: {EVIL}"),
    "/charset": raw(OK, f"Content-Type: text/html; charset={EVIL}"),
    "/cookie": raw(OK, "Content-Type: text/html", f"Set-Cookie: a={EVIL}"),
    "/moved": raw("HTTP/1.1 302 Found", f"Location: /target{EVIL}"),
    "/gone": raw("HTTP/1.1 302 Found", f"Location: http://other.example.net/{EVIL}"),
    "/nowhere": raw("HTTP/1.1 302 Found", f"Location: http://[{EVIL}"),
    "/phrase": raw(f"HTTP/1.1 500 {EVIL}"),
    "/status": raw(f"HTTP/1.1 {EVIL}"),
    "/line": raw(OK, EVIL),
    "/stumble": page,
    "/last": page,
}


def key_page(exchange: Exchange) -> None:
    links = [*ANSWERS, f"/{EVIL}", "/%1B[31m"]
    items = "".join(f"<a href='{link}'>{EVIL}</a>" for link in links)
    exchange.answer(html(items, f"<title>{EVIL}</title>"))


@pytest.mark.slow
@pytest.mark.parametrize("where", ["terminal", "file"])
def test_a_site_that_sends_control_characters(tmp_path: Path, where: str) -> None:
    file = tmp_path / "log"
    in_file = where == "file"
    settings = {
        **SETTINGS,
        "COOKIES_DEBUG": "True",
        "SPIDER_MODULES": "tests.support.echoing_spider",
        "RETRY_TIMES": "0",
        **({"LOG_FILE": str(file)} if in_file else {}),
    }
    options = [f"-s{name}={value}" for name, value in settings.items()]
    with HostileServer({**ANSWERS, "/": key_page}) as server:
        given = ["-a", f"url={server.url}/#\x1b[31m"]
        done = subprocess.run(
            [sys.executable, "-m", "scrapy", "crawl", "template_candidates", *given, *options],
            cwd=PROJECT,
            capture_output=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0
    assert len(server.log) > len(ANSWERS)
    assert controls(done.stderr.decode() + done.stdout.decode()) == set()
    log = file.read_bytes().decode() if in_file else done.stderr.decode()
    assert controls(log) == set()
    # What they tried is to be seen, and what has many lines still has.
    for words in ("encoding(s) '", "Set-Cookie: a=", "RuntimeError: ", r"/#\x1b[31m is taken for"):
        assert words in log
    assert log.count(SPELLED) >= 3
    assert "Dumping Scrapy stats:\n{'" in log
    assert "Traceback (most recent call last):\n" in log


class Painted(logging.Formatter):
    """As colorlog's formatter: a colour around what the record says."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return f"\x1b[32m{super().formatMessage(record)}\x1b[0m"


@pytest.fixture
def log() -> Iterator[tuple[logging.Logger, StringIO]]:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(Painted())
    logger = logging.Logger("somebody")  # noqa: LOG001 - one that no other test has
    logger.addHandler(handler)
    factory = logging.getLogRecordFactory()
    logging.setLogRecordFactory(logging.LogRecord)  # whatever other tests have left behind
    yield logger, stream
    logging.setLogRecordFactory(factory)


def test_messages_arguments_and_tracebacks(log: tuple[logging.Logger, StringIO]) -> None:
    logger, stream = log
    release = guard_log()
    logger.info("%s: %d", EVIL, 3)
    logger.info("%(a)s", {"a": "one\ntwo"})
    logger.info("two lines:\n%s", "{'a': 1,\n 'b': 2}")
    logger.info(f"in the message: {EVIL}\ttab")  # noqa: G004 - as Scrapy does
    logger.info("lone \ud83d surrogate")
    try:
        try:
            raise OSError("deep\ndown")  # noqa: TRY301 - to have a traceback
        except OSError as error:
            raise ValueError(f"one\n{EVIL}") from error
    except ValueError:
        logger.exception("failed")
    release()
    text = stream.getvalue()
    painted = text.count("\x1b[32m")
    assert painted == text.count("\x1b[0m") == 6
    text = text.replace("\x1b[32m", "").replace("\x1b[0m", "")
    assert controls(text) == set()
    first, second, *lines = text.splitlines()
    assert first == f"{harmless(EVIL)}: 3"
    assert second == r"one\ntwo"
    assert lines[:3] == ["two lines:", "{'a': 1,", " 'b': 2}"]
    assert lines[3:5] == [f"in the message: {harmless(EVIL)}\ttab", r"lone \ud83d surrogate"]
    assert lines[-2:] == ["ValueError: one", f"    {harmless(EVIL)}"]
    assert "OSError: deep\n    down\n" in text


def test_the_log_of_others_is_theirs_again(log: tuple[logging.Logger, StringIO]) -> None:
    logger, stream = log
    before = logging.getLogRecordFactory()
    first, second = guard_log(), guard_log()
    first()  # two crawls that overlap
    logger.info("%s", "\x07")
    second()
    assert logging.getLogRecordFactory() is before
    logger.info("%s", "\x07")
    assert [line.count("\x07") for line in stream.getvalue().splitlines()] == [0, 1]

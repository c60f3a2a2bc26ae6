import logging
import unicodedata
from collections.abc import Iterator
from io import StringIO

import pytest
from scrapy import Spider
from scrapy.settings import default_settings
from scrapy.utils.reactor import install_reactor
from scrapy.utils.test import get_crawler

from tests.support.browsers import html
from tests.support.crawls import RunCrawl, Serve
from tplspider.log_sanitizer import LogSanitizer, guard_log, printable

logger = logging.getLogger(__name__)

EVIL = "\x1b]0;owned\x07\x1b[31m\x9b2J\u202eevil\x7f\x08\r"
SPELLED = r"\x1b]0;owned\x07\x1b[31m\x9b2J\u202eevil\x7f\x08\r"


def controls(text: str) -> set[str]:
    odd = {each for each in text if unicodedata.category(each) in ("Cc", "Cs") or each == "\u202e"}
    return odd - {"\n", "\t"}


@pytest.fixture
def log() -> Iterator[StringIO]:
    stream = StringIO()
    handler = logging.StreamHandler(stream)
    logging.root.addHandler(handler)
    yield stream
    guard_log(release=True)
    logging.root.removeHandler(handler)


def test_messages_arguments_and_tracebacks(log: StringIO) -> None:
    guard_log()
    logger.warning("%s: %d", EVIL, 3)
    logger.warning("%s", "one\ntwo")
    logger.warning("two lines:\n%s", "{'a': 1,\n 'b': 2}")
    try:
        raise ValueError(EVIL)  # noqa: TRY301 - to have a traceback
    except ValueError:
        logger.exception("failed")
    first, second, *lines = log.getvalue().splitlines()
    assert first == f"{SPELLED}: 3"
    assert second == r"one\ntwo"
    assert lines[:3] == ["two lines:", "{'a': 1,", " 'b': 2}"]
    assert lines[-1] == f"ValueError: {SPELLED}"
    assert controls(log.getvalue()) == set()
    assert printable("lone \ud83d\tand tab\n") == "lone \\ud83d\tand tab\n"


def test_the_log_of_others_is_theirs(log: StringIO) -> None:
    install_reactor(default_settings.TWISTED_REACTOR)
    crawler = get_crawler(Spider)
    crawler.spider = Spider("ours")
    extension = LogSanitizer.from_crawler(crawler)
    extension._attach()
    for spider in (crawler.spider, Spider("theirs"), None):
        logger.warning("%s", "\x07", extra={"spider": spider})
    extension._detach()
    logger.warning("%s", "\x07")
    assert log.getvalue().splitlines() == [r"\x07", "\x07", r"\x07", "\x07"]


def test_a_site_that_sends_control_characters(crawl: RunCrawl, serve: Serve) -> None:
    evil = EVIL.encode("latin-1", "replace").decode("latin-1").replace("\r", "")
    links = f"<a href='/cookie'>{EVIL}</a><a href='/moved'>x</a><a href='/{EVIL}'>x</a>"
    routes = {
        "/": html(f"<title>{EVIL}</title>{links}"),
        "/cookie": lambda request: request.answer(200, b"x", Set_Cookie=f"a={evil}"),
        "/moved": lambda request: request.answer(302, Location=f"/{evil}"),
    }
    done = crawl(serve("alone", routes).url + "/", {"COOKIES_DEBUG": "True"})
    assert r"Set-Cookie: a=\x1b]0;owned" in done.log
    assert controls(done.log + done.stdout) == set()

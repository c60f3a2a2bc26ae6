"""Escapes control characters from websites in the log: they could control a terminal."""

from __future__ import annotations

import logging
import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from weakref import ref

from scrapy import signals

from tplspider.signals import Component

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

# What controls a terminal, changes the direction of text, or cannot be encoded (a lone surrogate).
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""The text with its control characters spelled out, except tabs and line ends.

    >>> printable("\x1b[31mred\r\n")
    '\\x1b[31mred\\r\n'
    """
    return CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


def sanitize(record: logging.LogRecord) -> bool:
    """A filter for handlers. Records without control characters keep their arguments."""
    with suppress(Exception):  # arguments that do not fit the message: logging reports them
        message = given = record.getMessage()
        if record.args and "\n" not in str(record.msg):
            message = message.replace("\n", "\\n")  # else an argument could look like a log line
        if (message := printable(message)) != given:
            record.msg, record.args = message, None
        if record.exc_info and not record.exc_text:  # what formatters would use
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        record.exc_text = record.exc_text and printable(record.exc_text)
    return True


def guard_log(log_filter: Any = sanitize, *, release: bool = False) -> None:
    """Sanitize what is logged from now on, by the handlers that are installed."""
    for handler in filter(None, (*logging.root.handlers, logging.lastResort)):
        (handler.removeFilter if release else handler.addFilter)(log_filter)


class LogSanitizer(Component):
    """Extension: sanitizes the log of its crawl, and what is logged without a spider meanwhile."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = ref(crawler)  # handlers outlive crawls
        # Again for each request: every crawl that starts installs a new handler.
        crawler.signals.connect(self._attach, signal=signals.spider_opened)
        crawler.signals.connect(self._attach, signal=signals.request_reached_downloader)
        crawler.signals.connect(self._detach, signal=signals.engine_stopped)

    def filter(self, record: logging.LogRecord) -> bool:
        crawler, spider = self._crawler(), getattr(record, "spider", None)
        is_ours = crawler and (spider is None or spider is crawler.spider)
        return sanitize(record) if is_ours else True

    def _attach(self) -> None:
        guard_log(self)

    def _detach(self) -> None:
        guard_log(self, release=True)

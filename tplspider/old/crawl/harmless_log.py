"""Log lines that cannot steer a terminal, whatever a website has put into them.

Headers, addresses and error messages come from the web, and Scrapy logs some of them as they are.
What goes through the ``logging`` module is made harmless where its records are made, because
Scrapy puts new handlers in the place of old ones while a crawl starts. The colours of a formatter
(LOG_COLOR) are put around the message afterwards, and stay.
"""

from __future__ import annotations

import logging
import os
import re
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any
from weakref import finalize

from scrapy import signals

from tplspider.old.crawl.own_spider import is_ours

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from scrapy.crawler import Crawler

# What would steer a terminal, turn the direction of what follows, or break the encoding (a lone
# surrogate); a tab and the end of a line do no harm.
CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

_CHAIN = 20  # errors that led to one another; few have more than three


def harmless(text: str) -> str:
    r"""A text with all its control characters spelled out.

    >>> harmless("\x1b[31mred\r\n")
    '\\x1b[31mred\\r\n'
    """
    return CONTROLS.sub(lambda found: ascii(found[0])[1:-1], text)


class _HarmlessRecord(logging.LogRecord):
    """A record whose message and traceback are harmless; its arguments are as they were given."""

    def getMessage(self) -> str:
        message = super().getMessage()
        spider = self.__dict__.get("spider")
        if spider is not None and not is_ours(type(spider)):
            return message  # a spider of somebody else's, in the same process
        if self.args and "\n" not in str(self.msg):
            # No line that only looks like one of the log: this end of a line is an argument's.
            message = message.replace("\n", "\\n")
        return harmless(message.replace(os.linesep, "\n"))

    # A formatter leaves the traceback here, then takes it from here.
    @property
    def exc_text(self) -> str | None:
        text: str | None = self.__dict__.get("exc_text")
        return text

    @exc_text.setter
    def exc_text(self, text: str | None) -> None:
        self.__dict__["exc_text"] = text and harmless(_with_indented_messages(text, self.exc_info))


def _with_indented_messages(traceback: str, exc_info: Any) -> str:
    """A traceback in which no line of an error's message can be taken for a line of the log."""
    error: BaseException | None = exc_info[1] if exc_info else None
    for _ in range(_CHAIN):
        if error is None:
            break
        with suppress(Exception):  # an error of somebody's may even fail to tell what it is
            message = str(error)
            traceback = traceback.replace(message, message.replace("\n", "\n    "))
        error = error.__cause__ or error.__context__
    return traceback


@cache
def _harmless_class(kind: Any) -> Any:
    if kind is logging.LogRecord:
        return _HarmlessRecord
    return type(kind.__name__, (_HarmlessRecord, kind), {})  # somebody has records of their own


class _HarmlessRecords:
    """A factory of log records, from when it is made until it is released."""

    def __init__(self) -> None:
        self.make = logging.getLogRecordFactory()
        self.active = True
        logging.setLogRecordFactory(self)

    def __call__(self, *arguments: Any, **named: Any) -> logging.LogRecord:
        record = self.make(*arguments, **named)
        kind: Any = type(record)
        if self.active and not isinstance(record, _HarmlessRecord):
            record.__class__ = _harmless_class(kind)
        return record

    def release(self) -> None:
        """Leave the records as they were, as soon as nobody else has put a factory over this."""
        self.active = False
        while isinstance(factory := logging.getLogRecordFactory(), _HarmlessRecords):
            if factory.active:
                break
            logging.setLogRecordFactory(factory.make)


def guard_log() -> Callable[[], None]:
    """Make harmless whatever is logged from now on, until what this returns is called, if ever."""
    return _HarmlessRecords().release


class HarmlessLog:
    """The extension that makes the log of a crawl harmless, to the last line of its stats."""

    def __init__(self, crawler: Crawler) -> None:
        # A crawl that fails to start tells nobody about its end.
        self._release = finalize(crawler, guard_log())
        crawler.signals.connect(self.engine_stopped, signal=signals.engine_stopped)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def engine_stopped(self) -> None:
        self._release()

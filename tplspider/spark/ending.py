"""Jobs that are ended from outside: by Ctrl-C, by SIGTERM, or as Java is."""

from __future__ import annotations

import logging
import signal
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

_OF_PY4J = "java_gateway"  # the module that writes to the root logger, with tracebacks


@contextmanager
def quiet_end() -> Iterator[None]:
    """Have Ctrl-C and SIGTERM raise KeyboardInterrupt, and py4j say nothing of it.

    pyspark's own way is to ask Java to cancel all jobs, in the midst of another call to it.
    """
    root = logging.getLogger()
    root.addFilter(_is_of_others)
    is_main = current_thread() is main_thread()
    signals = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    before = {each: signal.signal(each, _end) for each in signals}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        root.removeFilter(_is_of_others)


def is_java_gone(error: Exception) -> bool:
    """Whether a call to Java failed as that has ended, or is about to."""
    from py4j.protocol import Py4JNetworkError  # it comes with pyspark

    lost = isinstance(error, Py4JNetworkError | ConnectionError | EOFError)
    return lost or "SparkContext was shut down" in str(error)


def _is_of_others(record: logging.LogRecord) -> bool:
    return record.module != _OF_PY4J


def _end(*_: object) -> NoReturn:
    raise KeyboardInterrupt

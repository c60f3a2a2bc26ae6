"""What somebody sent that is not a request of HTTP is a line in the log, not an error of ours."""

from __future__ import annotations

import logging

from aiohttp import web
from aiohttp.http import HttpProcessingError

_logger = logging.getLogger(__name__)


def request_logger() -> logging.Logger:
    """For aiohttp, which tells of such requests with a traceback."""
    _logger.addFilter(_in_one_line)  # which is there once, however often it is added
    return _logger


def _in_one_line(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, HttpProcessingError | web.RequestPayloadError):
        record.levelno, record.levelname = logging.INFO, "INFO"
        why = error.message if isinstance(error, HttpProcessingError) else str(error)
        record.msg = "A request that cannot be read: %s"
        record.args = (" ".join(why.split())[:200],)
        record.exc_info = None
    return True

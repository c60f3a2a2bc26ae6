"""Why there is no result of a worker."""

from __future__ import annotations


class ExtractionError(Exception):
    """There is no template; the message says why, in a line."""


class ExtractionTimeoutError(ExtractionError):
    """It took too long."""


class ExtractionMemoryError(ExtractionError):
    """It took too much memory."""


class WorkerDiedError(ExtractionError):
    """The process that was at work ended, or could not be started."""


class ExtractorFailedError(ExtractionError):
    """The extractor raised an exception, whose traceback is a note of this one."""

"""Templates from worker processes, or from here where there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tplspider.old.extraction import EXTRACTOR, MEGABYTES, SECONDS
from tplspider.old.extraction.errors import (
    ExtractionError,
    ExtractionMemoryError,
    ExtractionTimeoutError,
    ExtractorFailedError,
    WorkerDiedError,
)
from tplspider.old.extraction.extract_job import ExtractJob, ExtractWork, run_job
from tplspider.old.extraction.extractors import extractor_name, load_extractor, one_line
from tplspider.old.extraction.worker_pool import WorkerPool

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.items import PageTemplate
    from tplspider.old.extraction.extractors import Extractor
    from tplspider.template.extract import PageSource

__all__ = [
    "ExtractionError",
    "ExtractionMemoryError",
    "ExtractionTimeoutError",
    "ExtractionWorkers",
    "ExtractorFailedError",
    "WorkerDiedError",
]


class ExtractionWorkers(WorkerPool):
    """Extracts templates in *workers* processes, which see to one key page each at a time.

    With 0 workers the work is done here and now, where an event loop waits for it: for reactors
    without asyncio, and for those who want no process.
    """

    def __init__(
        self,
        extractor: str | Extractor = EXTRACTOR,
        *,
        workers: int = 1,
        seconds: float = SECONDS,
        megabytes: float = MEGABYTES,
        for_report: bool = False,
        markdown: bool = False,
    ) -> None:
        self._extractor = extractor_name(extractor)
        self._seconds = seconds
        self._for_report = for_report
        self._markdown = markdown
        super().__init__(ExtractWork(self._extractor), workers=workers, megabytes=megabytes)

    async def extract(
        self,
        key: PageSource,
        pages: Sequence[PageSource],
        *,
        seconds: float | None = None,
        most: int | None = None,
    ) -> PageTemplate | None:
        """What the extractor makes of the pages; raises ExtractionError if it cannot.

        Of the pages, those that tell most come first; *most* of them are enough.
        A template has the seconds of the constructor from the moment a worker is at it. *seconds*
        count from now, with the time until it has its turn. Cancelling ends the work on it.
        """
        job = ExtractJob(key, tuple(pages), self._seconds, most, self._for_report, self._markdown)
        if not self.workers:
            return self._extract_here(job, seconds)
        return cast("PageTemplate | None", await self.do(job, seconds))

    def _extract_here(self, job: ExtractJob, seconds: float | None) -> PageTemplate | None:
        limit = self._seconds if seconds is None else min(seconds, self._seconds)
        try:
            return run_job(load_extractor(self._extractor), job, seconds=limit)
        except TimeoutError as error:
            raise ExtractionTimeoutError(str(error)) from error
        except (Exception, SystemExit, KeyboardInterrupt) as error:
            # A worker that wants to end the process ends its own; here it is that of the crawl.
            raise ExtractorFailedError(one_line(error)) from error

"""What workers do for searches: templates of key pages, by an extractor that users may choose."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tplspider.old.extraction.extractors import load_extractor, run_extractor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.items import PageTemplate
    from tplspider.old.extraction.extractors import Extractor
    from tplspider.template.extract import PageSource


@dataclass(frozen=True, slots=True)
class ExtractJob:
    """Extract this, from so many of the pages at most.

    *for_report*: the key page as a report shows it is wanted as well; *markdown*: that, too.
    """

    key: PageSource
    pages: tuple[PageSource, ...]
    seconds: float
    most: int | None = None
    for_report: bool = False
    markdown: bool = False


@dataclass(frozen=True, slots=True)
class ExtractWork:
    """Runs the extractor with that import path."""

    extractor: str

    def start(self) -> Callable[[ExtractJob], PageTemplate | None]:
        """Import the extractor, now, while nobody waits: it takes its time."""
        try:
            return partial(run_job, load_extractor(self.extractor))
        except ValueError as error:
            fault = error  # for whoever asks for a template, and not before

            def fail(_: ExtractJob) -> None:
                raise fault

            return fail


def run_job(
    extractor: Extractor, job: ExtractJob, *, seconds: float | None = None
) -> PageTemplate | None:
    """The template that is asked for; see :func:`run_extractor`."""
    return run_extractor(
        extractor,
        job.key,
        job.pages,
        seconds=seconds,
        most=job.most,
        for_report=job.for_report,
        markdown=job.markdown,
    )

"""Searches in Spark's workers: from each key page, by what was looked up for it, or once more."""

from __future__ import annotations

import json
import logging
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tplspider.items import CandidateSearch
from tplspider.old.extraction.archive_search import ArchiveAnswer, ArchiveJob, ArchiveWork, Searcher
from tplspider.old.extraction.extractors import one_line
from tplspider.search.answer import joined, unanswered
from tplspider.search.session import SearchOptions, search_id
from tplspider.sources.kept_pages import KeptPages
from tplspider.spark.careful import in_child, needs_care
from tplspider.spark.joined_site import JoinedSite, place_from
from tplspider.spark.stored_files import StoredFiles
from tplspider.spark.table_columns import ASKED, ATTEMPT, batches_of, item_row, unread_row
from tplspider.web.page import CRASHED, ERROR

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

    import pyarrow as pa


Row = dict[str, Any]

logger = logging.getLogger(__name__)

_BATCH = 50  # rows that are given out at a time: a template may have megabytes
_KILLED = "the search, or its template, killed the process, or took too long"


@dataclass(frozen=True)
class KeyLine:
    """A line that asks for a search; its summary has the fields of the line."""

    number: int | None
    requested_url: str
    own: dict[str, Any] | None = None  # fields of the user's own


@dataclass(frozen=True)
class KeyJob:
    """A search to be made, and all lines that ask for it; or the *end* of one that cannot be."""

    url: str
    lines: list[KeyLine]
    options: SearchOptions = field(default_factory=SearchOptions)
    end: dict[str, Any] | None = None

    @property
    def search_id(self) -> str:
        return search_id(self.url, self.options)

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        told = json.loads(text)
        told["lines"] = [KeyLine(**each) for each in told["lines"]]
        told["options"] = SearchOptions(**told["options"])
        return cls(**told)


@dataclass(frozen=True)
class SearchAttempts:
    """Answers key pages that come as rows of :data:`LOOKED_UP`.

    *names* gives the names of the files. *is_final*: no key page has another attempt.
    """

    work: ArchiveWork
    names: Any  # a Broadcast
    base: str
    is_final: bool = False

    def table(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark is given."""
        return batches_of(self._rows(batches), ATTEMPT, _BATCH)

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
        with StoredFiles() as stored:
            site = JoinedSite(stored, self.names.value, self.base, largest=self.work.largest)
            searcher, is_careful = Searcher(self.work, site), needs_care()
            for batch in batches:
                for row in batch.to_pylist():
                    asked = {name: row[name] for name in ASKED.names}
                    attempt = partial(self._attempt, searcher, site, row)
                    found = _with_care(attempt, row, site) if is_careful else attempt()
                    yield {**asked, **found}

    def _attempt(
        self, searcher: Searcher, site: JoinedSite, row: Row, *, template: bool = True
    ) -> Row:
        found = self._search(searcher, site, row, template=template)
        unread = site.take_unread()
        for summary in found.get("summary", ()):  # what is not archived may be that
            summary["hint"] = joined(summary["hint"], unread.told)
        return {**found, **unread_row(*unread)}

    def _search(self, searcher: Searcher, site: JoinedSite, row: Row, *, template: bool) -> Row:
        job = KeyJob.from_json(row["job"])
        if job.end is not None:
            return _answered(job, site, [CandidateSearch(**job.end)], {})
        site.begin(
            set(row["asked"]),
            map(place_from, row["places"] or ()),
            pool_of=row["pool_of"] or "",
            pool=map(place_from, row["pool"] or ()),
            is_deep=bool(row["deep"]),
            is_final=self.is_final,
        )
        first = job.lines[0].requested_url
        misfits, kept = site.misfits, KeptPages()
        try:
            session = searcher.search(ArchiveJob(job.url, first, job.options, 0), kept)
            if not site.is_unsure:
                answer = searcher.answer(session, kept, template=template, misfits=misfits)
        except Exception as error:  # noqa: BLE001 - a fault of ours costs this key page alone
            why = one_line(error)
            logger.error("The search from %s failed: %s", job.url, why)  # noqa: TRY400 - one line
            return _answered(job, site, _failed(job, ERROR, why), {"fault": why})
        finally:
            kept.close()
        if site.is_unsure:
            return _asking(site, row)
        return _found(job, site, answer)


def _asking(site: JoinedSite, row: Row) -> Row:
    """Another attempt is to be made, once more is looked up."""
    is_again = bool(site.wants_pool) and site.wants_pool == row["pool_of"]
    return {
        "asked": sorted({*row["asked"], *site.missing}),
        "pool_of": site.wants_pool or row["pool_of"],
        "deep": is_again or (bool(row["deep"]) and not site.wants_pool),
        "done": False,
    }


def _found(job: KeyJob, site: JoinedSite, answer: ArchiveAnswer) -> Row:
    more: Row = {"misfits": answer.misfits, "fault": answer.fault or None}
    more["candidates"] = [item_row(each, *_where(site, each.url)) for each in answer.candidates]
    if template := answer.template:
        more["template"] = [item_row(template, *_where(site, template.key_url))]
    summaries = [
        replace(answer.summary, requested_url=line.requested_url, line=line.number, input=line.own)
        for line in job.lines
    ]
    return _answered(job, site, summaries, more)


def _answered(job: KeyJob, site: JoinedSite, ends: Sequence[CandidateSearch], more: Row) -> Row:
    rows = [
        item_row(end, *(_where(site, end.key_url) if job.end is None else (None, None)))
        for end in ends
    ]
    return {"done": True, "misfits": 0, "candidates": [], "template": [], **more, "summary": rows}


def _where(site: JoinedSite, url: str) -> tuple[str | None, int | None]:
    place = site.where.get(url)
    return (site.place_name(place), place.offset) if place else (None, None)


def _with_care(attempt: Callable[..., Row], row: Row, site: JoinedSite) -> Row:
    """The same in a process of its own; once more without a template, if that is too much."""
    if found := in_child(attempt):
        return found
    if alone := in_child(partial(attempt, template=False)):
        return {**alone, "fault": _KILLED}
    job = KeyJob.from_json(row["job"])
    site.where.clear()
    return _answered(job, site, _failed(job, CRASHED, _KILLED), {"fault": _KILLED})


def _failed(job: KeyJob, outcome: str, why: str) -> list[CandidateSearch]:
    """The summaries of a search that gives nothing."""
    return [
        unanswered(line.requested_url, outcome, why, job.search_id, line=line.number, own=line.own)
        for line in job.lines
    ]

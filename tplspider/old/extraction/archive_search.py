"""What workers do for archives: whole searches, each with its template, without a network."""

from __future__ import annotations

import atexit
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING

from tplspider.old.extraction.extractors import (
    load_extractor,
    one_line,
    run_extractor,
    with_evidence,
)
from tplspider.pools.pool import Pool, PooledPage, companions, page_site
from tplspider.pools.site_templates import COMPANIONS
from tplspider.search.answer import NO_EVIDENCE, joined
from tplspider.search.cliques import MAX_SECONDS, POOL
from tplspider.search.session import Event, SearchLimits, SearchOptions, SearchSession
from tplspider.search.witness import KEY, MOST, SPARE, evidence
from tplspider.sources.base import drive, limits_of
from tplspider.sources.kept_pages import KeptPages
from tplspider.sources.unread import Unread
from tplspider.template.extract import PageSource

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
    from tplspider.old.extraction.extractors import Extractor
    from tplspider.sources.warc import CapturedSite

_POOLS = 32  # sites whose pools are kept
READ_FOR_POOL = 1000  # captures of a site: more are not looked at, however alike its pages are


@dataclass(frozen=True, slots=True)
class ArchiveJob:
    """Search from this key page; *template* is for the case that the template was too much."""

    url: str
    requested_url: str
    options: SearchOptions
    seconds: float
    template: bool = True


@dataclass(frozen=True, slots=True)
class ArchiveAnswer:
    """All that a search gave; *fault* tells why its template is missing."""

    summary: CandidateSearch
    candidates: list[TemplateCandidate]
    template: PageTemplate | None = None
    fault: str = ""
    misfits: int = 0  # records that are not what the index says
    unread: Unread = field(default_factory=Unread)


@dataclass(frozen=True)
class ArchiveWork:
    """Searches in the archive of an index, among these of its files.

    *extractor* is '' where no template is asked for. It has so many *seconds*.
    """

    index: Path
    files: tuple[int, ...]
    largest: int
    limits: SearchLimits
    extractor: str = ""
    seconds: float = 0
    for_report: bool = False
    markdown: bool = False

    def start(self) -> Callable[[ArchiveJob], ArchiveAnswer]:
        """Open the archive, and import the extractor; it is closed with the process."""
        searcher = self.open()
        atexit.register(searcher.close)
        return searcher.do

    def open(self) -> Searcher:
        """The same, for whoever closes it."""
        # Here and not above: what reads archives is an extra.
        from tplspider.sources.warc import WarcSite
        from tplspider.sources.warc_index import WarcIndex

        index = WarcIndex(self.index, read_only=True)
        return Searcher(self, WarcSite(index, largest=self.largest, files=self.files))


class Searcher:
    """Searches one after the other; the pools of sites are kept for a while."""

    def __init__(self, work: ArchiveWork, site: CapturedSite) -> None:
        self._work = work
        self._site = site
        self._extractor: Extractor | None = None
        if work.extractor:
            self._extractor = load_extractor(work.extractor)
        self._pools: OrderedDict[str, tuple[PooledPage, ...]] = OrderedDict()

    def close(self) -> None:
        """Let go of the archive."""
        self._site.close()

    def do(self, job: ArchiveJob) -> ArchiveAnswer:
        """What a key page gives."""
        misfits, kept = self._site.misfits, KeptPages()
        try:
            session = self.search(job, kept)
            found = self.answer(session, kept, template=job.template, misfits=misfits)
        finally:
            kept.close()
        unread = self._site.take_unread()  # what is not archived may be that
        hint = joined(found.summary.hint, unread.told)
        return replace(found, summary=replace(found.summary, hint=hint), unread=unread)

    def search(self, job: ArchiveJob, kept: KeptPages) -> SearchSession:
        """The search itself, driven to its end; its pages are kept, if a template is to be made."""
        session = SearchSession(
            job.url,
            job.options,
            limits_of(self._site, self._work.limits),
            requested_url=job.requested_url,
            listener=_clock(job.options.max_seconds),
        )
        self._site.search = session.search_id
        drive(session, self._site, kept.keep if self._extractor else lambda *_: None)
        return session

    def answer(
        self, session: SearchSession, kept: KeptPages, *, template: bool = True, misfits: int = 0
    ) -> ArchiveAnswer:
        """What a search that is over gives; *misfits* is how many there were before it."""
        summary, found, fault = session.summary, None, ""
        assert summary is not None
        if self._extractor and template:
            found, fault = self._template(session, kept)
        if found:
            alone = NO_EVIDENCE if not found.evidence else ""
            summary = replace(summary, hint=joined(summary.hint, alone), method=found.method)
        misfits = self._site.misfits - misfits
        return ArchiveAnswer(summary, session.candidates(), found, fault, misfits)

    def _template(self, session: SearchSession, kept: KeptPages) -> tuple[PageTemplate | None, str]:
        """The template of a search that is over, or why it is missing, if it should not be."""
        wanted = evidence(session.search, session.witness)
        pages = [kept.get(each.page, each.link, each.role) for each in wanted]
        found = [page for page in pages if page]
        if not found or found[0].role != KEY:
            return None, "it could not be kept" if wanted else ""
        fault = str(kept.fault) if kept.fault else ""
        try:
            key, *others = [PageSource(page.url, page.html) for page in found]
            template = self._by_pool(session, key) or self._compare(key, others, MOST)
        except Exception as error:  # noqa: BLE001 - whatever an extractor may raise
            return None, one_line(error)
        if template:
            template = replace(
                template, search_id=session.search_id, requested_url=session.requested_url
            )
        return template, fault

    def _compare(self, key: PageSource, others: list[PageSource], most: int) -> PageTemplate | None:
        assert self._extractor is not None
        work = self._work
        found = run_extractor(
            self._extractor,
            key,
            others,
            seconds=work.seconds,
            most=most,
            for_report=work.for_report,
            markdown=work.markdown,
        )
        return found and with_evidence(found)

    def _by_pool(self, session: SearchSession, key: PageSource) -> PageTemplate | None:
        """The template by the pool of the site, where the archive is too thin for a search."""
        summary = session.summary
        if not summary or summary.complete or not summary.not_archived:
            return None
        others = [page.source for page in companions(key, self._pool(key.url))]
        if not others:
            return None
        found = self._compare(key, others[: COMPANIONS + SPARE], COMPANIONS)
        return replace(found, method=POOL) if found and found.evidence else None

    def _pool(self, url: str) -> tuple[PooledPage, ...]:
        site = page_site(url)
        known = self._pools.get(site)
        if known is None:
            known = self._pools[site] = draw_pool(self._site, site).pages
            if len(self._pools) > _POOLS:
                self._pools.popitem(last=False)
        self._pools.move_to_end(site)
        return known


def draw_pool(archive: CapturedSite, site: str) -> Pool:
    """The pool of a site, drawn from all pages that are archived of it."""
    from tplspider.sources.warc_pools import pages_by_place

    pool = Pool()
    for page in pages_by_place(archive, site, READ_FOR_POOL):
        pooled = PooledPage.of(page.url, page.text)
        if not pool.takes(pooled.place):
            break
        pool.add(pooled)
    return pool


def _clock(seconds: float) -> Callable[[Event], None]:
    """Ends a search when its time is up."""
    end = monotonic() + seconds

    def tick(event: Event) -> None:
        if seconds and monotonic() >= end:
            event.session.stop(MAX_SECONDS)

    return tick

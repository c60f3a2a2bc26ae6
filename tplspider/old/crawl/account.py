"""The account of searches as they go on: stats, and log lines for whoever runs the crawl."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from tplspider.search.answer import counted, end_line, link_line, missing_line, witness_line
from tplspider.search.cliques import KEY_PAGE_UNUSABLE, POOL, Visit

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from tplspider.items import CandidateSearch
    from tplspider.search.session import SearchSession

logger = logging.getLogger(__name__)


class _Line:
    """A line that is made when somebody reads it: most are for logs that nobody writes."""

    def __init__(self, line: Callable[[], str]) -> None:
        self._line = line

    def __str__(self) -> str:
        return self._line()


class Account:
    """The account of one search, link by link; or of *many*, by a line for each, and sums."""

    def __init__(self, crawler: Crawler, *, many: bool) -> None:
        self._crawler = crawler
        self._many = many

    def started(self, session: SearchSession, links: int, unparsable: int) -> None:
        """The key page was read."""
        self._tell(session, lambda: f"Key page {session.key_url}: {counted(links, 'link')}")
        if not self._many:
            self._put("loads", 1)
            self._put("cs_size", 0)
        self._put("links", links)
        if unparsable:
            self._put("links_unparsable", unparsable)

    def link_settled(self, session: SearchSession, visit: Visit) -> None:
        """A link was taken into account."""
        if search := session.search:
            self._tell(session, partial(link_line, search, visit))
            if not self._many:
                self._put("loads", search.loads)
                self._put("cs_size", len(search.members))
        if visit.no_page:
            self._count(f"skipped/{visit.reason}")
        else:
            self._count("explored" if visit.page else "duplicates")

    def ended(self, session: SearchSession, summary: CandidateSearch) -> None:
        """The search is over."""
        self._put("loads", summary.loads)
        self._put("wasted", summary.wasted)
        if self._many:
            self._count(f"key_outcome/{summary.key_outcome}")
        else:
            self._put("cs_size", summary.cs_size)
            self._put("key_outcome", summary.key_outcome)
            if summary.similarity is not None:
                self._put("similarity", summary.similarity)
        if summary.witness_loads:
            self._put("witness_loads", summary.witness_loads)
        if summary.reason == POOL:
            self._count("by_pool")
        elif not summary.complete:
            self._count("incomplete")
        for row in summary.witnesses:
            self._tell(session, partial(witness_line, row))
        if summary.reason == KEY_PAGE_UNUSABLE:
            logger.log(logging.INFO if self._many else logging.WARNING, "%s", end_line(summary))
            return
        logger.info("%s%s", f"{summary.key_url}: " if self._many else "", end_line(summary))
        if self._many:
            return
        if line := missing_line(summary):
            logger.info("%s", line)
        if summary.hint:
            logger.warning("A hint: %s", summary.hint)

    def _tell(self, session: SearchSession, line: Callable[[], str]) -> None:
        """Log a line; where there are many searches, for those who want to know all."""
        if self._many:
            logger.debug("%s: %s", session.key_url, _Line(line))
        else:
            logger.info("%s", line())

    def _put(self, name: str, value: float | str) -> None:
        """A figure of the search, or a sum over all."""
        if self._many and not isinstance(value, str):
            self._crawler.stats.inc_value(f"tplspider/{name}", value)  # type: ignore[arg-type]  # a float will do
        else:
            self._crawler.stats.set_value(f"tplspider/{name}", value)

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(f"tplspider/{name}")

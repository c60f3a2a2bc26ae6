"""Pipelines: items can be written to any feed, and do not contradict each other."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy.exceptions import DropItem

from tplspider import signals
from tplspider.items import OURS, CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.search.cliques import POOL
from tplspider.search.kinds import KINDS
from tplspider.tracker import count_lost
from tplspider.web.addresses import identity
from tplspider.web.page import BAD_INPUT
from tplspider.web.text import storable_value

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class ValidationPipeline(signals.Component):
    """Drops what contradicts the definition of a complete subdigraph.

    It takes characters out of texts from the web that would make a feed invalid. It comes before
    the pipelines of a project, which may drop or delay items as they like.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        # The pages of each search that passed, and their ranks, until its summary comes.
        self._seats: defaultdict[str, dict[str, int]] = defaultdict(dict)
        # The explored pages and witnesses of finished searches, as long.
        self._seen: dict[str, set[str]] = {}
        crawler.signals.connect(self.search_ended, signal=signals.search_ended)

    def search_ended(self, summary: CandidateSearch) -> None:
        pages = [row["url"] for row in summary.explored if row["outcome"] == "page"]
        pages += [row["url"] for row in summary.witnesses if row["outcome"] == "page"]
        self._seen[summary.search_id] = {identity(url) for url in pages}

    def process_item(self, item: Any) -> Any:
        if isinstance(item, OURS):
            adapter = ItemAdapter(item)
            for name, value in adapter.items():
                adapter[name] = storable_value(value)
        if isinstance(item, TemplateCandidate):
            seats = self._seats[item.search_id]
            fault = _candidate_fault(item, seats)
            seats[identity(item.url)] = item.rank
        elif isinstance(item, CandidateSearch):
            seats = self._seats.pop(item.search_id, {})
            # One search may answer several lines of a list: its pages come before the first.
            is_first = self._seen.pop(item.search_id, None) is not None
            fault = _summary_fault(item, seats if is_first else None)
        elif isinstance(item, PageTemplate):
            fault = _template_fault(item, self._seen.get(item.search_id, set()))
        else:
            return item
        if fault:
            self.crawler.stats.inc_value("tplspider/invalid_items")
            count_lost(self.crawler)
            message = f"{type(item).__name__} of {item.key_url}: {fault}"
            if not isinstance(item, CandidateSearch):
                raise DropItem(message, log_level="ERROR")
            logger.error(message)  # a summary always passes
        return item


def _candidate_fault(item: TemplateCandidate, seats: Mapping[str, int]) -> str:
    page = identity(item.url)
    if page == identity(item.key_url):
        return "the key page is not a candidate"
    if page in seats:
        return f"{item.url} would fill two seats"
    if any(rank >= item.rank for rank in seats.values()):
        return f"rank {item.rank} is out of order"
    return _size_fault(item)


def _summary_fault(item: CandidateSearch, seats: Mapping[str, int] | None) -> str:
    if len(item.candidates) != (0 if item.method == KINDS else item.cs_size):
        return f"{len(item.candidates)} candidates, but cs_size {item.cs_size}"
    if item.key_outcome == BAD_INPUT:
        return "" if not item.loads else f"{item.loads} loads without a search"
    if seats is not None and {identity(url) for url in item.candidates} != seats.keys():
        return "its candidates are not those that were given"
    if (item.similarity is None) != (not item.cs_size):
        return f"similarity={item.similarity} with {item.cs_size} pages"
    return _size_fault(item)


def _template_fault(item: PageTemplate, seen: AbstractSet[str]) -> str:
    if len(item.candidates) != item.evidence or (item.template_share and not item.candidates):
        return f"{len(item.candidates)} pages and evidence {item.evidence}"
    if item.method == POOL:
        from tplspider.pools.pool import page_site  # imported lazily: few crawls need it

        if {page_site(url) for url in item.candidates} - {page_site(item.key_url)}:
            return "its pages are not pages of its site"
    elif not set(map(identity, item.candidates)) <= seen:
        return "its pages are neither explored pages nor witnesses"
    return ""


def _size_fault(item: TemplateCandidate | CandidateSearch) -> str:
    if item.complete != (item.cs_size == item.requested_size):
        return f"complete={item.complete} with {item.cs_size} of {item.requested_size} pages"
    if item.cs_size > item.requested_size:
        return f"{item.cs_size} pages where {item.requested_size} were asked for"
    return ""

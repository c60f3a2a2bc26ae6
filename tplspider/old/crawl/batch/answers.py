"""The answer to one key page as a whole, for programs that run searches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from scrapy import signals

from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from tplspider.old.crawl.batch.results import ResultDesk


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """All that a search gave.

    There is a template if one is asked for (TPLSPIDER_TEMPLATE). An input that asks for the same
    search as one before is answered by its summary alone: then it is *repeated*.
    """

    summary: CandidateSearch
    candidates: list[TemplateCandidate] = field(default_factory=list)
    template: PageTemplate | None = None
    repeated: bool = False


class AnswerMaker:
    """Puts the items of each search together, as they have left the pipelines.

    The result desk lets out those of one search at a time, and tells when they are out.
    """

    def __init__(
        self, crawler: Crawler, desk: ResultDesk, take: Callable[[SearchAnswer], object]
    ) -> None:
        self._take = take
        self._candidates: list[TemplateCandidate] = []
        self._template: PageTemplate | None = None
        self._summary: CandidateSearch | None = None
        desk.listener = self.all_out
        crawler.signals.connect(self.item_scraped, signal=signals.item_scraped)

    def item_scraped(self, item: object) -> None:
        if isinstance(item, TemplateCandidate):
            self._candidates.append(item)
        elif isinstance(item, PageTemplate):
            self._template = item
        elif isinstance(item, CandidateSearch):
            self._summary = item

    def all_out(self, summary: CandidateSearch, repeated: bool) -> None:  # noqa: FBT001 - a listener
        """Hand on the answer.

        *summary* is for the case that somebody's pipeline dropped it.
        """
        answer = SearchAnswer(self._summary or summary, self._candidates, self._template, repeated)
        self._candidates, self._template, self._summary = [], None, None
        self._take(answer)

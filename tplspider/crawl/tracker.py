"""The extension that follows a search: stats, log lines, and the end of the crawl."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import signals as scrapy_signals
from scrapy.exceptions import CloseSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from tplspider import signals
from tplspider.crawl.failures import PRIVATE_ADDRESS
from tplspider.crawl.under_way import RequestsUnderWay
from tplspider.crawl.wording import counted, mutually_linked
from tplspider.items import CandidateSearch
from tplspider.search.answer import KEY_PAGE_UNUSABLE
from tplspider.search.hints import missing_links_text, private_address_hint

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult

    from tplspider.search.window import SubdigraphSearch, Visit
    from tplspider.spiders.template_candidates import TemplateCandidatesSpider

logger = logging.getLogger(__name__)

MAX_SECONDS = "max_seconds"

_TOLD = 3  # missing links that are told in the log; the summary has more


class CliqueTracker:
    """Keeps the account of a search and closes the spider once its results are out.

    The end is that of the last item, the summary: when it has passed the pipelines (or was dropped
    there), the spider is closed with the reason why the search ended.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._reason = ""
        self._closing = False
        self._finished: Deferred[None] | None = None  # fires when the last results are out
        self._timer: CallLaterResult | None = None
        for handler, signal in (
            (self.search_started, signals.search_started),
            (self.link_settled, signals.link_settled),
            (self.search_ended, signals.search_ended),
            (self.item_left, scrapy_signals.item_scraped),
            (self.item_left, scrapy_signals.item_dropped),
            (self.item_left, scrapy_signals.item_error),
            (self.spider_opened, scrapy_signals.spider_opened),
            (self.spider_idle, scrapy_signals.spider_idle),
            (self.spider_closed, scrapy_signals.spider_closed),
        ):
            crawler.signals.connect(handler, signal=signal)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def spider_opened(self, spider: TemplateCandidatesSpider) -> None:
        """See to it that nothing closes the spider before the results so far are out.

        Scrapy has no signal for that moment: when it tells that a spider closes, the pipelines are
        closed already. So the engine's method, by which all ends come about, is led through here.
        """
        engine = self.crawler.engine
        close_spider_async = engine.close_spider_async

        async def close_with_results(*, reason: str = "cancelled") -> None:
            if under_way := self.crawler.get_downloader_middleware(RequestsUnderWay):
                under_way.cancel()
            spider.page_results.hurry()
            # Whoever wants to close it as well, a second limit or a signal, waits for the results.
            if self._finished is None:
                self._finished = deferred_from_coro(self._finish_early(spider, reason))
            out: Deferred[None] = Deferred()
            self._finished.addBoth(lambda _: out.callback(None))
            await maybe_deferred_to_future(out)
            await close_spider_async(reason=reason)

        engine.close_spider_async = close_with_results  # type: ignore[method-assign]  # no signal
        if seconds := spider.arguments.max_seconds:
            self._timer = call_later(seconds, self._close, MAX_SECONDS)

    def spider_closed(self) -> None:
        if self._timer:
            self._timer.cancel()

    async def _finish_early(self, spider: TemplateCandidatesSpider, reason: str) -> None:
        if self._reason:
            return
        self._closing = True
        try:
            async for item in spider.finish_early(reason):
                await self.crawler.engine.scraper.start_itemproc_async(item, response=None)
        except Exception:
            logger.exception("The results so far cannot be given")

    def _close(self, reason: str) -> None:
        deferred_from_coro(self.crawler.engine.close_spider_async(reason=reason))

    def search_started(self, search: SubdigraphSearch, links: int, unparsable: int) -> None:
        logger.info("Key page %s: %s", search.key_page.url, counted(links, "link"))
        self._set("loads", search.loads)
        self._set("links", links)
        self._set("cs_size", 0)
        if unparsable:
            self._set("links_unparsable", unparsable)

    def link_settled(self, search: SubdigraphSearch, visit: Visit) -> None:
        size = len(search.members)
        logger.info("#%d %s: %s", visit.rank, visit.link.url, _decision(search, visit))
        self._set("loads", search.loads)
        self._set("cs_size", size)
        if visit.outcome == "none":
            self.crawler.stats.inc_value(f"tplspider/skipped/{visit.reason}")
        else:
            kind = "explored" if visit.outcome == "page" else "duplicates"
            self.crawler.stats.inc_value(f"tplspider/{kind}")

    def search_ended(self, summary: CandidateSearch) -> None:
        self._reason = summary.reason
        self._set("loads", summary.loads)
        self._set("cs_size", summary.cs_size)
        self._set("key_outcome", summary.key_outcome)
        self._set("wasted", summary.wasted)
        if summary.similarity is not None:
            self._set("similarity", summary.similarity)
        if summary.reason == KEY_PAGE_UNUSABLE:
            logger.warning(
                "The key page %s cannot be used (%s)%s",
                summary.key_url,
                summary.key_outcome,
                f": {summary.hint}" if summary.hint else "",
            )
        else:
            logger.info(
                "%s: %s, a CS of %d where %d were asked for, found with %s (%s)",
                "Complete" if summary.complete else "Incomplete",
                mutually_linked(summary.cs_size),
                summary.cs_size,
                summary.requested_size,
                counted(summary.loads, "load"),
                summary.reason,
            )
            self._tell_what_is_missing(summary)
            if summary.hint:
                logger.warning("A hint: %s", summary.hint)

    def _tell_what_is_missing(self, summary: CandidateSearch) -> None:
        """Of an incomplete answer, say which page was nearest to be a member, and why it is not."""
        rows = [row for row in summary.explored if row["missing"] and not summary.complete]
        if rows:
            nearest = min(rows, key=lambda row: len(row["missing"]))
            logger.info(
                "Nearest to one more member is page %d, %s: %s",
                nearest["rank"],
                nearest["url"],
                missing_links_text(nearest["missing"], most=_TOLD),
            )

    def item_left(self, item: Any) -> None:
        if isinstance(item, CandidateSearch) and self._reason and not self._closing:
            self._closing = True
            self._close(self._reason)

    def spider_idle(self) -> None:
        # Reached only when somebody's middleware or pipeline made something else of the summary.
        if self._reason:
            raise CloseSpider(self._reason)

    def _set(self, name: str, value: float | str) -> None:
        self.crawler.stats.set_value(f"tplspider/{name}", value)


def _decision(search: SubdigraphSearch, visit: Visit) -> str:
    """What became of a link and of the best CS, for the person who runs the crawl."""
    if visit.outcome == "none":
        private = visit.reason == PRIVATE_ADDRESS
        why = f": {private_address_hint(of_link=True)}" if private else ""
        return f"no page ({visit.reason}{why})"
    if visit.outcome == "duplicate":
        what = f"duplicate ({visit.reason})"
    else:
        what = "page" if visit.url == visit.link.url else f"page at {visit.url}"
    ranks = [member.rank for member in search.members]
    return f"{what}; {mutually_linked(len(ranks))} so far (best CS: {ranks} of {search.size})"

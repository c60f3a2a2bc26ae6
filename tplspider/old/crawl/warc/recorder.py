"""What is archived of a crawl, and when: every answer that comes, and why others do not come."""

from __future__ import annotations

import logging
from collections import OrderedDict
from hashlib import blake2b
from typing import TYPE_CHECKING, TypeVar

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.http.request import NO_CALLBACK
from scrapy.spidermiddlewares.httperror import HttpError
from scrapy.utils.asyncio import run_in_thread

from tplspider import __version__
from tplspider.old.crawl.batch.shared_answers import SHARED
from tplspider.old.crawl.config import Config
from tplspider.old.crawl.credentials import origin
from tplspider.old.crawl.politeness import agent_of
from tplspider.old.crawl.redirects import OffsiteRedirectError, RedirectLoopError
from tplspider.old.crawl.ticket import Ticket, asked_address, ticket_of
from tplspider.old.crawl.warc.archive_file import ArchiveFile
from tplspider.old.crawl.warc.http_heads import plain_address, request_bytes, response_head
from tplspider.old.crawl.warc.records import (
    DETAIL,
    OUTCOME,
    SEARCH,
    Clock,
    Exchange,
    Reference,
    exchange_records,
    info_record,
    new_id,
    outcome_record,
    rendered_record,
)
from tplspider.search.answer import counted
from tplspider.web.page import Answer, NoPage

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import HtmlResponse, Response

    from tplspider.old.crawl.outputs.archive_place import ArchivePlace
    from tplspider.old.crawl.outputs.resumable import FeedFiles

T = TypeVar("T")

logger = logging.getLogger(__name__)

# Packing it takes a few milliseconds: more would keep the event loop waiting.
_SMALL = 64 * 1024
# A body of less is written again; for that of more, the record that has it is named.
_LEAST_REPEATED = 1024
_MOST_KNOWN = 4096  # records that can be named
# Redirects are archived, and whoever reads them comes to the same end.
_TOLD_BY_ANSWERS = (HttpError, OffsiteRedirectError, RedirectLoopError)
# An answer that was not asked for just now: from the cache, or another search has asked for it.
_NOT_SENT = frozenset({"cached", SHARED})


class CrawlArchive:
    """The downloader middleware that archives what our requests give (``-a warc=FILE``).

    It belongs between the middleware that unpacks bodies and all that answer requests in the place
    of a server: so it sees each body as it came, from wherever. Behind the one that refuses private
    addresses, it does not see what that has refused. What no middleware sees, it is told.
    """

    def __init__(
        self, crawler: Crawler, place: ArchivePlace, feed_files: FeedFiles | None = None
    ) -> None:
        self._crawler = crawler
        self._secrets = Config.from_crawler(crawler).warc_secrets
        self._file = ArchiveFile(crawler, place, feed_files)
        self._clock = Clock()
        self._info_id = new_id()
        self._known: OrderedDict[bytes, Reference] = OrderedDict()
        crawler.signals.connect(self.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self.spider_closed, signal=signals.spider_closed)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        searches = getattr(crawler.spider, "searches", None)
        if searches is None or searches.job.plan.archive is None:
            raise NotConfigured
        return cls(crawler, searches.job.plan.archive, searches.job.feed_files)

    def spider_opened(self) -> None:
        settings = self._crawler.settings
        about = {
            "software": f"tplspider/{__version__}",
            "format": "WARC File Format 1.1",
            "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
            "robots": "classic" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
            "http-header-user-agent": agent_of(settings),
        }
        self._file.open()
        self._add(info_record(self._file.path.name, self._clock.now(), self._info_id, about))

    def spider_closed(self) -> None:
        count = self._crawler.stats.get_value("tplspider/archived", 0)
        if self._file.is_open:
            logger.info("%s archived in %s", counted(count, "answer"), self._file.path)
        self._file.close()

    async def process_response(self, request: Request, response: Response) -> Response:
        if (ticket := ticket_of(request)) and self._file.is_open:
            found = Exchange(
                plain_address(request.url),
                self._clock.now(),
                response_head(response, secrets=self._secrets),
                response.body,
                b"" if _NOT_SENT.intersection(response.flags) else self._sent(request, ticket),
                str(response.ip_address or ""),
                _marks(request, ticket),
            )
            self._take(*await _soon(response, self._packed, found))
        return response

    async def keep_rendered(self, request: Request, page: HtmlResponse) -> None:
        """Archive a page as its scripts have made it, beside the one that came."""
        if (ticket := ticket_of(request)) and self._file.is_open:
            kind, url = f"text/html; charset={page.encoding}", plain_address(request.url)
            told = url, self._clock.now(), self._info_id, (kind, page.body), _marks(request, ticket)
            self._add(await _soon(page, rendered_record, *told))

    def keep_outcome(
        self, ticket: Ticket, url: str, answer: Answer, exception: BaseException | None = None
    ) -> None:
        """Archive what a load ended with, unless that is to be seen from its answers."""
        if isinstance(answer, NoPage) and not isinstance(exception, _TOLD_BY_ANSWERS):
            outcome = {OUTCOME: answer.reason}
            if answer.detail:
                outcome[DETAIL] = answer.detail
            marks = {SEARCH: ticket.session.search_id}
            date = self._clock.now()
            self._add(outcome_record(plain_address(url), date, self._info_id, outcome, marks))

    def _packed(self, found: Exchange) -> tuple[bytes, bytes, Reference]:
        """The records of an answer, what it is known by, and its name."""
        sum_of_all = blake2b(f"{found.url}\n".encode() + found.head, digest_size=16)
        sum_of_all.update(found.body)
        key, record_id = sum_of_all.digest(), new_id()
        same = self._known.get(key) if len(found.body) >= _LEAST_REPEATED else None
        records = exchange_records(found, self._info_id, record_id, same)
        return records, key, same or Reference(record_id, found.date)

    def _take(self, records: bytes, key: bytes, name: Reference) -> None:
        if not self._add(records):
            return
        self._crawler.stats.inc_value("tplspider/archived")
        self._known[key] = name
        self._known.move_to_end(key)
        if len(self._known) > _MOST_KNOWN:
            self._known.popitem(last=False)

    def _add(self, records: bytes) -> bool:
        written = self._file.add(records)
        if written:
            self._crawler.stats.inc_value("tplspider/archived_bytes", len(records))
        return written

    def _sent(self, request: Request, ticket: Ticket) -> bytes:
        """The request as it was sent; the credentials of a key page are taken off by now."""
        found = ticket.credentials
        is_theirs = found is not None and origin(request.url) == found.origin
        authorization = found.header if found and is_theirs else None
        return request_bytes(request, authorization, secrets=self._secrets)


def tell(
    crawler: Crawler,
    ticket: Ticket,
    answer: Answer,
    url: str = "",
    exception: BaseException | None = None,
) -> None:
    """Tell a session what a request ended with that gave no page, and archive it if need be."""
    if archive := crawler.get_downloader_middleware(CrawlArchive):
        archive.keep_outcome(ticket, url or asked_address(ticket), answer, exception)
    ticket.session.tell(ticket.rank, answer, url)


async def _soon(response: Response, pack: Callable[..., T], *told: object) -> T:
    """What packing a response gives; a large one is packed in a thread."""
    return pack(*told) if len(response.body) <= _SMALL else await run_in_thread(pack, *told)


def _marks(request: Request, ticket: Ticket) -> dict[str, str]:
    """The search that a request is a load of: a robots.txt, or a part of a page, is none."""
    return {SEARCH: ticket.session.search_id} if request.callback is not NO_CALLBACK else {}

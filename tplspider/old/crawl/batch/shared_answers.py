"""One answer of a server for all searches that ask for the same: they often share a menu."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from scrapy.exceptions import NotConfigured

from tplspider import signals
from tplspider.old.crawl.config import Config
from tplspider.old.crawl.ticket import Ticket, ticket_of
from tplspider.web.addresses import host_of

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from tplspider.search.session import SearchSession
    from tplspider.spiders.template_candidates import TemplateCandidatesSpider

    Key = tuple[str, bytes]

SHARED = "shared"  # the flag of a response that another search has asked for
_OLDEST = 600  # seconds: a long list is not to be answered by what a site was in the morning
_HEAD = 2048  # bytes, about, of what an answer is beside its body
# Hosts whose answers stay although no search is open: the next line may be one of theirs.
_RESTING = 16


@dataclass(slots=True)
class _Answer:
    response: Response
    host: str  # of the key page
    came: float

    @property
    def size(self) -> int:
        return len(self.response.body) + _HEAD


class SharedAnswers:
    """The downloader middleware that answers a request as one was answered for another search.

    It belongs next to the downloader, so that redirects, encodings and cookies are each search's
    own matter. Answers are for those who send the same cookies, and are kept for hosts of open
    searches, up to TPLSPIDER_SHARED_MB. Who asks for what is under way waits for it.
    """

    def __init__(self, crawler: Crawler, most: int) -> None:
        self._most = most
        self._answers: OrderedDict[Key, _Answer] = OrderedDict()
        self._size = 0
        self._asked: dict[Key, asyncio.Future[None]] = {}
        self._hosts: dict[
            str, set[SearchSession]
        ] = {}  # those at rest in the order they came to it
        self.counts: Counter[str] = Counter()  # of answers that a search was spared, by its id
        crawler.signals.connect(self.search_opened, signal=signals.search_opened)
        crawler.signals.connect(self.search_settled, signal=signals.search_settled)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        most = Config.from_crawler(crawler).shared_mb * 1024 * 1024
        if not most:
            raise NotConfigured
        return cls(crawler, most)

    def search_opened(self, session: SearchSession, spider: TemplateCandidatesSpider) -> None:
        if spider.searches.batch:
            self._hosts.setdefault(host_of(session.url), set()).add(session)

    def search_settled(self, session: SearchSession) -> None:
        self.counts.pop(session.search_id, None)
        host = host_of(session.url)
        users = self._hosts.get(host, set())
        users.discard(session)
        if not users and host in self._hosts:
            self._hosts[host] = self._hosts.pop(host)
            resting = [name for name, its_users in self._hosts.items() if not its_users]
            for name in resting[:-_RESTING]:
                del self._hosts[name]
                for key in [key for key, each in self._answers.items() if each.host == name]:
                    self._drop(key)

    async def process_request(self, request: Request) -> Response | None:
        key, ticket = self._key(request), ticket_of(request)
        if key is None or ticket is None:
            return None
        while (asked := self._asked.get(key)) and key not in self._answers:
            await asyncio.shield(asked)
        answer = self._answers.get(key)
        if answer and monotonic() - answer.came <= _OLDEST:
            self._answers.move_to_end(key)
            self.counts[ticket.session.search_id] += 1
            flags = [*answer.response.flags, SHARED]
            return answer.response.replace(request=request, flags=flags)
        task = asyncio.current_task()
        if task:
            # Whatever becomes of it, those who wait for it go on when the task is over.
            future = self._asked[key] = asyncio.get_running_loop().create_future()
            task.add_done_callback(lambda _: self._answered(key, future))
        return None

    def process_response(self, request: Request, response: Response) -> Response:
        key, ticket = self._key(request), ticket_of(request)
        if key and ticket and key in self._asked and _may_be_shared(response):
            self._keep(key, response, ticket)
        return response

    def _answered(self, key: Key, future: asyncio.Future[None]) -> None:
        if self._asked.get(key) is future:
            del self._asked[key]
        if not future.done():
            future.set_result(None)

    def _keep(self, key: Key, response: Response, ticket: Ticket) -> None:
        host = host_of(ticket.session.url)
        answer = _Answer(response.replace(request=None), host, monotonic())
        if host not in self._hosts or answer.size > self._most // 4:
            return
        if key in self._answers:
            self._drop(key)
        self._answers[key] = answer
        self._size += answer.size
        while self._size > self._most:
            self._drop(next(iter(self._answers)))

    def _drop(self, key: Key) -> None:
        self._size -= self._answers.pop(key).size

    def _key(self, request: Request) -> Key | None:
        """What requests have in common that get the same answer; None for those that share none."""
        ticket = ticket_of(request)
        if ticket is None or ticket.credentials or host_of(ticket.session.url) not in self._hosts:
            return None
        if request.method != "GET" or request.meta.get("dont_obey_robotstxt"):  # a robots.txt
            return None
        return request.url.partition("#")[0], request.headers.get("Cookie") or b""


def _may_be_shared(response: Response) -> bool:
    """Whether an answer would be the same for another search, and at another moment."""
    if response.status >= 500 or response.status == 429 or "Set-Cookie" in response.headers:
        return False
    vary = b",".join(response.headers.getlist("Vary")).lower()
    return b"*" not in vary and b"referer" not in vary

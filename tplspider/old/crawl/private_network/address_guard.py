"""Keeps a search from private addresses: literal ones in requests, others as they are looked up.

What was checked is what is connected to: Scrapy's handlers for HTTP/1.1 and HTTP/2 connect by
Twisted's HostnameEndpoint, which tries just the addresses that the reactor's resolver gives it.

Requests without a ticket are not judged, nor are their look-ups, in our crawls and in others of the
process. But what they find in one of ours is noted, as is what the searches of a crawl find: it may
leave an open connection behind, which is for another search as little as a new one.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

from scrapy import signals as scrapy_signals
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest
from scrapy.utils.url import add_http_if_no_scheme

from tplspider import signals
from tplspider.old.crawl.config import Config
from tplspider.old.crawl.private_network.checked_resolver import (
    CheckedResolver,
    Download,
    download_under_way,
)
from tplspider.old.crawl.private_network.private_addresses import (
    AddressPolicy,
    KnownHosts,
    literal_address,
)
from tplspider.old.crawl.scrapy_private import lead_downloads_through
from tplspider.old.crawl.ticket import ticket_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.internet.base import ReactorBase

    from tplspider.search.session import SearchSession

logger = logging.getLogger(__name__)

# Our download handler where there is no reactor: the only one that asks checked_sockets.py.
ASYNCIO_HANDLER = "tplspider.old.crawl.asyncio_handler.AsyncioDownloadHandler"


class PrivateAddressError(IgnoreRequest):
    """A request was refused: it leads to a private address."""


class PrivateAddressMiddleware:
    """Refuses requests of ours that lead to private addresses, as :class:`AddressPolicy` decides.

    It belongs between HttpProxyMiddleware, which says whether a proxy is used, and the downloader.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._allow_private = Config.from_crawler(crawler).allow_private
        self._hosts = KnownHosts()
        self._policies: WeakKeyDictionary[SearchSession, AddressPolicy] = WeakKeyDictionary()
        self._resolver: CheckedResolver | None = None
        self._warned: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        connect = crawler.signals.connect
        connect(middleware.spider_opened, signal=scrapy_signals.spider_opened)
        connect(middleware.key_page_found, signal=signals.search_started)
        connect(middleware.spider_closed, signal=scrapy_signals.spider_closed)
        return middleware

    def spider_opened(self) -> None:
        """Lead downloads through here, in the order and the tasks in which they are made."""
        lead_downloads_through(self._crawler, self._download)

    async def _download(
        self, request: Request, start_download: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        host = _host_and_port(request.url)[0]
        if not host:  # data:, file: and the like
            return await start_download(request)
        policy = self._judge(request)
        self._check_names()
        literal = None if request.meta.get("proxy") else literal_address(host)
        passed = {literal} if literal else set()
        token = download_under_way.set(Download(self._hosts, policy, passed))
        try:
            return await start_download(request)
        finally:
            download_under_way.reset(token)

    def process_request(self, request: Request) -> None:
        self._judge(request)

    def process_response(self, request: Request, response: Response) -> Response:
        """Refuse what a handler with a resolver of its own has loaded from a private address."""
        address, policy = response.ip_address, self._policy_of(request)
        if policy and address and not request.meta.get("proxy"):
            host = _host_and_port(response.url)[0]
            if not policy.allowed(host, [address]):
                raise PrivateAddressError(f"{host} was at the private address {address}")
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Tell a name that was refused from one that does not exist, and that may be retried."""
        host, policy = _host_and_port(request.url)[0], self._policy_of(request)
        refused = policy is not None and policy.has_refused(host)
        if refused and isinstance(exception, CannotResolveHostError):
            raise PrivateAddressError(f"{host} has a private address") from exception

    def key_page_found(self, session: SearchSession) -> None:
        """The key page's redirects are over: its links come from there."""
        if policy := self._policies.get(session):
            policy.key_page_at(_host_and_port(session.key_url)[0])

    def forget(self, host: str) -> None:
        """No connection to a host is open any more, nor does a search use it, by its name."""
        self._hosts.forget(host)

    def spider_closed(self) -> None:
        """Leave the reactor as it was, unless somebody else uses its resolver."""
        if self._resolver:
            self._resolver.users.remove(self)
            if not self._resolver.users and _reactor().nameResolver is self._resolver:
                _reactor().installNameResolver(self._resolver.inner)

    def _judge(self, request: Request) -> AddressPolicy | None:
        """Raise PrivateAddressError when a request is known to lead to a private address.

        This is done twice: when it is asked for, and again when its turn has come, for others may
        have found out more in the meantime. None for what is not ours, or not on a host.
        """
        host, port = _host_and_port(request.url)
        policy = self._policy_of(request)
        if not host or policy is None:
            return None
        if proxy := request.meta.get("proxy"):
            self._warn(
                "A proxy looks up names: only literal addresses are checked for private ones"
            )
            policy.trust(*_host_and_port(add_http_if_no_scheme(proxy)))
        hops = request.meta.get("redirect_urls")
        source = _host_and_port(hops[-1])[0] if hops else ""
        if not policy.allows(host, None if proxy else port, source):
            raise PrivateAddressError(f"{host} is a private address")
        if proxy:
            policy.looked_up_elsewhere(host)
        return policy

    def _policy_of(self, request: Request) -> AddressPolicy | None:
        """The policy of the search that a request is for, decided by its key page."""
        ticket = ticket_of(request)
        if ticket is None:
            return None
        policy = self._policies.get(ticket.session)
        if policy is None:
            policy = self._policies[ticket.session] = AddressPolicy(
                _host_and_port(ticket.session.url)[0],
                allow_private=self._allow_private,
                hosts=self._hosts,
            )
        return policy

    def _check_names(self) -> None:
        """See to it that names are looked up by way of a :class:`CheckedResolver`.

        This is done before each request: a CrawlerProcess may install the resolver of its settings
        after the crawl has started.
        """
        if not self._crawler.settings.getbool("TWISTED_REACTOR_ENABLED"):
            if not checks_names(self._crawler.settings):
                self._warn("Without a Twisted reactor, names are not checked for private addresses")
            return
        reactor = _reactor()
        installed: object = reactor.nameResolver
        if not isinstance(installed, CheckedResolver):
            installed = CheckedResolver(installed)
            reactor.installNameResolver(cast("Any", installed))
        if self._resolver is not installed:
            self._resolver = installed
            installed.users.append(self)

    def _warn(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            logger.warning(message)


def checks_names(settings: BaseSettings) -> bool:
    """Whether the handlers of these settings, for a crawl without a reactor, check names."""
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    return all(handlers.get(scheme) == ASYNCIO_HANDLER for scheme in ("http", "https"))


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:  # nothing can be connected to there
        port = None
    return parts.hostname or "", port or (443 if parts.scheme == "https" else 80)


def _reactor() -> ReactorBase:
    from twisted.internet import reactor  # it installs one: when, Scrapy decides

    return cast("ReactorBase", reactor)

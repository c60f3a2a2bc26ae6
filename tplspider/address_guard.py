"""Keeps a crawl from private addresses: literal ones in requests, others where names are looked up.

What was checked is what is connected to: Scrapy's handlers for HTTP/1.1 and HTTP/2 connect by
Twisted's HostnameEndpoint, which tries just the addresses that the reactor's resolver gives it.
"""

from __future__ import annotations

import logging
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlsplit

from scrapy import signals as scrapy_signals
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest
from scrapy.utils.url import add_http_if_no_scheme
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.interfaces import IHostnameResolver, IResolutionReceiver
from zope.interface import implementer  # type: ignore[import-untyped]  # it has no types

from tplspider import signals
from tplspider.config import Config
from tplspider.private_addresses import AddressPolicy, literal_address

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.base import ReactorBase
    from twisted.internet.interfaces import IAddress, IHostResolution

    from tplspider.search import SubdigraphSearch

logger = logging.getLogger(__name__)

# The crawls of one process share a resolver; this tells whose look-up it is. A download runs in the
# context of some request of its crawl, if not always its own.
_policy_of_crawl: ContextVar[AddressPolicy | None] = ContextVar("policy_of_crawl", default=None)


class PrivateAddressError(IgnoreRequest):
    """A request was refused: it leads to a private address."""


class PrivateAddressMiddleware:
    """Refuses requests that lead to private addresses, as :class:`AddressPolicy` decides.

    It belongs between HttpProxyMiddleware, which says whether a proxy is used, and the downloader.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._allow_private = Config.from_crawler(crawler).allow_private
        self._policy: AddressPolicy | None = None
        self._resolver: CheckedResolver | None = None
        self._warned: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        connect = crawler.signals.connect
        connect(middleware.key_page_found, signal=signals.search_started)
        connect(middleware.spider_closed, signal=scrapy_signals.spider_closed)
        return middleware

    def process_request(self, request: Request) -> None:
        host, port = _host_and_port(request.url)
        if not host:  # data:, file: and the like
            return
        policy = self._policy = self._policy or self._new_policy(host)
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
        self._check_names(policy)

    def process_response(self, request: Request, response: Response) -> Response:
        """Refuse what a handler with a resolver of its own has loaded from a private address."""
        address = response.ip_address
        if self._policy and address and not request.meta.get("proxy"):
            host = _host_and_port(response.url)[0]
            if not self._policy.allowed(host, [address]):
                raise PrivateAddressError(f"{host} was at the private address {address}")
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Tell a name that was refused from one that does not exist, and that may be retried."""
        host = _host_and_port(request.url)[0]
        refused = self._policy is not None and self._policy.has_refused(host)
        if refused and isinstance(exception, CannotResolveHostError):
            raise PrivateAddressError(f"{host} has a private address") from exception

    def key_page_found(self, search: SubdigraphSearch) -> None:
        """The key page's redirects are over: its links come from there."""
        if self._policy:
            self._policy.key_page_at(_host_and_port(search.key_page.url)[0])

    def spider_closed(self) -> None:
        """Leave the reactor as it was, unless somebody else uses its resolver."""
        if self._resolver and self._policy:
            self._resolver.policies.remove(self._policy)
            if not self._resolver.policies and _reactor().nameResolver is self._resolver:
                _reactor().installNameResolver(self._resolver.inner)

    def _new_policy(self, host: str) -> AddressPolicy:
        arguments = getattr(self._crawler.spider, "arguments", None)
        key_host = _host_and_port(getattr(arguments, "url", ""))[0]
        return AddressPolicy(key_host or host, allow_private=self._allow_private)

    def _check_names(self, policy: AddressPolicy) -> None:
        """See to it that names are looked up by way of a :class:`CheckedResolver`.

        This is done before each request: a CrawlerProcess may install the resolver of its settings
        after the crawl has started.
        """
        if not self._crawler.settings.getbool("TWISTED_REACTOR_ENABLED"):
            self._warn("Without a Twisted reactor, names are not checked for private addresses")
            return
        _policy_of_crawl.set(policy)
        reactor = _reactor()
        installed: object = reactor.nameResolver
        if not isinstance(installed, CheckedResolver):
            installed = CheckedResolver(installed)
            reactor.installNameResolver(cast("Any", installed))
        if self._resolver is not installed:
            self._resolver = installed
            installed.policies.append(policy)

    def _warn(self, message: str) -> None:
        if message not in self._warned:
            self._warned.add(message)
            logger.warning(message)


@implementer(IHostnameResolver)
class CheckedResolver:
    """Passes on the answers of another resolver, but for addresses that a policy refuses."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.policies: list[AddressPolicy] = []

    def resolveHostName(
        self,
        resolutionReceiver: Any,  # noqa: N803 - Twisted's name for it
        hostName: str,  # noqa: N803 - Twisted's name for it
        portNumber: int = 0,  # noqa: N803 - Twisted's name for it
        *arguments: Any,
        **named: Any,
    ) -> Any:
        policy = _policy_of_crawl.get()
        # A look-up that belongs to none of the crawls, as far as one can see, has to suit them all.
        policies = [policy] if policy in self.policies else list(self.policies)
        receiver = _CheckedReceiver(resolutionReceiver, policies, hostName, portNumber)
        return self.inner.resolveHostName(receiver, hostName, portNumber, *arguments, **named)


@implementer(IResolutionReceiver)
class _CheckedReceiver:
    """Waits for all addresses of a name, which are judged together, and passes on those allowed."""

    def __init__(self, receiver: Any, policies: list[AddressPolicy], name: str, port: int) -> None:
        self._receiver = receiver
        self._policies = policies
        self._name = name
        self._port = port
        self._found: list[IAddress] = []

    def resolutionBegan(self, resolution: IHostResolution) -> None:
        self._receiver.resolutionBegan(resolution)

    def addressResolved(self, address: IAddress) -> None:
        self._found.append(address)

    def resolutionComplete(self) -> None:
        allowed = self._found
        for policy in self._policies:
            if not policy.trusts(self._name, self._port):
                allowed = self._allowed_by(policy, allowed)
        for address in allowed:
            self._receiver.addressResolved(address)
        self._receiver.resolutionComplete()

    def _allowed_by(self, policy: AddressPolicy, found: list[IAddress]) -> list[IAddress]:
        pairs = [
            (address, literal)
            for address in found
            if isinstance(address, IPv4Address | IPv6Address)  # all that is ever connected to
            and (literal := literal_address(address.host))
        ]
        allowed = policy.allowed(self._name, (literal for _, literal in pairs))
        return [address for address, literal in pairs if literal in allowed]


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:  # nothing can be connected to there
        port = None
    return parts.hostname or "", port or (443 if parts.scheme == "https" else 80)


def _reactor() -> ReactorBase:
    from twisted.internet import reactor  # noqa: PLC0415 - it installs one: when, Scrapy decides

    return cast("ReactorBase", reactor)

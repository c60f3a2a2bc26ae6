"""Redirects, by HTTP and by meta refresh: followed as long as they stay on the key page's site.

Requests without a ticket are redirected as Scrapy's own middlewares do it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse

from tplspider.crawl.redirect_targets import clean_location, meta_refresh
from tplspider.crawl.ticket import ticket_of
from tplspider.web.addresses import identity

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class OffsiteRedirectError(IgnoreRequest):
    """A link redirects to another site, where nothing is asked for."""


class RedirectLoopError(IgnoreRequest):
    """A redirect leads back to where it came from."""


class KnownAddressError(IgnoreRequest):
    """A link redirects to an address whose page is known or under way; there is no need to go."""

    def __init__(self, url: str) -> None:
        super().__init__(f"redirect to {url}, which is known")
        self.url = url


class SiteRedirectMiddleware(RedirectMiddleware):
    """Scrapy's own, but a link of the search is followed on its site only."""

    def process_response(  # type: ignore[override]  # Scrapy passes no spider any more
        self, request: Request, response: Response
    ) -> Request | Response:
        if ticket_of(request) is None or self._is_wanted(request, response):
            return super().process_response(request, response)
        try:
            if response.status in _REDIRECTS:
                response = clean_location(response)
            result = super().process_response(request, response)
        except ValueError as error:  # an address that cannot be requested, such as javascript:
            raise OffsiteRedirectError(f"redirect to nowhere: {error}") from None
        if isinstance(result, Request):
            check_redirect(self.crawler, request, response, result)
        elif response.status in _REDIRECTS and response.headers.get("Location"):
            raise OffsiteRedirectError("redirect to nowhere")
        return result

    def _is_wanted(self, request: Request, response: Response) -> bool:
        """Whether somebody has asked for the redirect itself, by one of Scrapy's ways."""
        statuses = (
            *getattr(self.crawler.spider, "handle_httpstatus_list", ()),
            *request.meta.get("handle_httpstatus_list", ()),
        )
        return (
            bool(request.meta.get("dont_redirect"))
            or bool(request.meta.get("handle_httpstatus_all"))
            or response.status in statuses
        )


class SiteMetaRefreshMiddleware(MetaRefreshMiddleware):
    """Scrapy's own, but a page that refreshes itself, or only after a while, is a page.

    METAREFRESH_MAXDELAY is the longest delay that is followed, in seconds.
    """

    def __init__(self, settings: BaseSettings) -> None:
        super().__init__(settings)
        self._longest = settings.getfloat("METAREFRESH_MAXDELAY")  # Scrapy stays below it

    def process_response(  # type: ignore[override]  # Scrapy passes no spider any more
        self, request: Request, response: Response
    ) -> Request | Response:
        if ticket_of(request) is None:
            return super().process_response(request, response)
        if not isinstance(response, HtmlResponse):
            return response
        if request.meta.get("dont_redirect") or request.method == "HEAD":
            return response
        delay, url = meta_refresh(response, self._ignore_tags) or (0.0, response.url)
        if delay > self._longest or identity(url) == identity(response.url):
            return response
        redirected = self._redirect_request_using_get(request, response, url)
        result = self._redirect(redirected, request, "meta refresh")
        check_redirect(self.crawler, request, response, result)
        return result


def check_redirect(
    crawler: Crawler, request: Request, response: Response, redirected: Request
) -> None:
    """Raise IgnoreRequest when there is no use in following a redirect."""
    # A site may set a cookie and send one back to the same address to look at it.
    before = [*request.meta.get("redirect_urls", ()), request.url]
    if redirected.url in before and not response.headers.get("Set-Cookie"):
        raise RedirectLoopError(f"redirect back to {redirected.url}")
    site, search = getattr(crawler.spider, "site", None), getattr(crawler.spider, "search", None)
    rank = redirected.cb_kwargs.get("rank")
    if site is None or search is None or rank is None:
        return  # the key page, whose final host is the site; or no request of the search
    target = identity(redirected.url)
    if target not in site:
        raise OffsiteRedirectError(f"redirect to {redirected.url}")
    if search.knows(target, rank):
        raise KnownAddressError(redirected.url.partition("#")[0])
    search.follow(rank, target)

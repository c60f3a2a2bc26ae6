"""Redirects, by HTTP and by meta refresh: followed as long as they stay on the key page's site.

Requests without a ticket are redirected as Scrapy's own middlewares do it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse
from scrapy.http.request import NO_CALLBACK

from tplspider.old.crawl.responses import web_page
from tplspider.old.crawl.ticket import Ticket, ticket_of
from tplspider.web.page import Redirect
from tplspider.web.redirects import REDIRECTS, clean_location, is_loop, meta_refresh

if TYPE_CHECKING:
    from scrapy.http import Response
    from scrapy.settings import BaseSettings


class OffsiteRedirectError(IgnoreRequest):
    """A link redirects to another site, where nothing is asked for."""


class RedirectLoopError(IgnoreRequest):
    """A redirect leads back to where it came from."""


class KnownAddressError(IgnoreRequest):
    """A link redirects to an address whose page is known or under way: no need to go there."""

    def __init__(self, redirect: Redirect) -> None:
        super().__init__(f"redirect to {redirect.url}, which is known")
        self.redirect = redirect


class SiteRedirectMiddleware(RedirectMiddleware):
    """Scrapy's own, but a link of the search is followed on its site only."""

    def process_response(  # type: ignore[override]  # Scrapy passes no spider any more
        self, request: Request, response: Response
    ) -> Request | Response:
        ticket = ticket_of(request)
        if ticket is None or self._is_wanted(request, response):
            return super().process_response(request, response)
        try:
            if response.status in REDIRECTS:
                response = _with_clean_location(response)
            result = super().process_response(request, response)
        except ValueError as error:  # an address that cannot be requested, such as javascript:
            raise OffsiteRedirectError(f"redirect to nowhere: {error}") from None
        if isinstance(result, Request):
            _check(ticket, request, response, result)
            return _follow(ticket, result)
        if response.status in REDIRECTS and response.headers.get("Location"):
            raise OffsiteRedirectError("redirect to nowhere")
        return result

    def _is_wanted(self, request: Request, response: Response) -> bool:
        """Whether somebody has asked for the redirect itself, by one of Scrapy's ways."""
        try:
            of_spider = self.crawler.spider.handle_httpstatus_list  # type: ignore[union-attr]
        except AttributeError:
            of_spider = ()
        return (
            bool(request.meta.get("dont_redirect"))
            or bool(request.meta.get("handle_httpstatus_all"))
            or response.status in (*of_spider, *request.meta.get("handle_httpstatus_list", ()))
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
        ticket = ticket_of(request)
        if ticket is None:
            return super().process_response(request, response)
        if not isinstance(response, HtmlResponse):
            return response
        if request.meta.get("dont_redirect") or request.method == "HEAD":
            return response
        page = web_page(response)
        url = meta_refresh(page, longest_delay=self._longest, ignored_tags=self._ignore_tags)
        if url is None:
            return response
        redirected = self._redirect_request_using_get(request, response, url)
        result = self._redirect(redirected, request, "meta refresh")
        _check(ticket, request, response, result)
        return _follow(ticket, result)


def _check(ticket: Ticket, request: Request, response: Response, redirected: Request) -> None:
    """Raise IgnoreRequest when there is no point in following a redirect."""
    passed = [*request.meta.get("redirect_urls", ()), request.url]
    if is_loop(redirected.url, passed, sets_cookie=bool(response.headers.get("Set-Cookie"))):
        raise RedirectLoopError(f"redirect back to {redirected.url}")
    if ticket.rank is None or request.callback is NO_CALLBACK:
        return  # the key page, whose final host is the site; or a robots.txt, a part of a page
    found = ticket.session.judge(ticket.rank, redirected.url)
    if isinstance(found, Redirect):
        raise KnownAddressError(found)
    if found:
        raise OffsiteRedirectError(f"redirect to {redirected.url}")


def _follow(ticket: Ticket, redirected: Request) -> Request:
    if ticket.rank is not None and redirected.callback is not NO_CALLBACK:
        ticket.session.follow(ticket.rank, redirected.url)
    return redirected


def _with_clean_location(response: Response) -> Response:
    """*response* without a ``user:password@`` in its Location; ValueError for a bad address."""
    written = (response.headers.get("Location") or b"").decode("utf-8", "surrogateescape")
    cleaned = clean_location(written)
    if cleaned == written:
        return response
    headers = response.headers.copy()
    headers["Location"] = cleaned.encode("utf-8", "surrogateescape")
    return response.replace(headers=headers)

"""A cookie jar for each search, so that its answer does not depend on the searches beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider import signals
from tplspider.old.crawl.ticket import ticket_of

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.downloadermiddlewares.cookies import CookiesMiddleware

    from tplspider.search.session import SearchSession

META_KEY = "cookiejar"  # Scrapy's


class SearchCookieJars:
    """The downloader middleware that gives the requests of a search a jar of their own.

    Those whose jar somebody has named already keep it. What requests that are not ours have put
    into the common jar before a search starts, a login for instance, is in its jar as well.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        jars = cls(crawler)
        for signal in (signals.search_ended, signals.search_settled):  # one may be dropped
            crawler.signals.connect(jars.search_ended, signal=signal)
        return jars

    def process_request(self, request: Request) -> None:
        ticket, cookies = ticket_of(request), cookies_of(self._crawler)
        if ticket is None or cookies is None or META_KEY in request.meta:
            return
        key = request.meta[META_KEY] = ticket.session.search_id
        if key not in cookies.jars:
            jar = cookies.jars[key]
            for cookie in cookies.jars.get(None, ()):
                jar.set_cookie(cookie)

    def search_ended(self, session: SearchSession) -> None:
        drop_jar(self._crawler, session.search_id)


def drop_jar(crawler: Crawler, key: object) -> None:
    """Let go of the cookies in a jar."""
    if cookies := cookies_of(crawler):
        cookies.jars.pop(key, None)


def cookies_of(crawler: Crawler) -> CookiesMiddleware | None:
    """Scrapy's middleware; None if the settings have turned it off."""
    # Not at the top: when it is imported, it looks where it is to get the Public Suffix List from,
    # and that is set by our add-on.
    from scrapy.downloadermiddlewares.cookies import CookiesMiddleware

    return crawler.get_downloader_middleware(CookiesMiddleware)

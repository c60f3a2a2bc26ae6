"""The requests of the spider: for links of the key page, and for nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.url import strip_url

from tplspider.crawl.ticket import META_KEY, Ticket

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from scrapy.settings import BaseSettings

    from tplspider.search.window import Visit


def key_page_request(
    url: str, callback: Callable[..., Any], errback: Callable[..., Any]
) -> Request:
    """The request for the key page, by which the search starts."""
    return Request(url, callback, errback=errback, dont_filter=True, meta={META_KEY: Ticket()})


def link_request(
    visit: Visit,
    key_url: str,
    settings: BaseSettings,
    callback: Callable[..., Any],
    errback: Callable[..., Any],
) -> Request:
    """The request for a link, which is known by its rank again."""
    # Whatever page it is requested after, the link is one of the key page.
    with_referer = settings.getbool("REFERER_ENABLED")
    return Request(
        visit.link.url,
        callback,
        errback=errback,
        headers={"Referer": strip_url(key_url)} if with_referer else None,
        cb_kwargs={"rank": visit.rank},
        meta={"depth_reset": True, META_KEY: Ticket(visit.rank)},
        priority=-visit.rank,
        dont_filter=True,
    )


def empty_request(callback: Callable[..., Any]) -> Request:
    """A request that loads nothing, for places that may ask for requests but not give items."""
    return Request(
        "data:,", callback, errback=callback, dont_filter=True, meta={"dont_cache": True}
    )


def is_too_long(url: str, settings: BaseSettings) -> bool:
    """Whether Scrapy would drop the request, telling nobody."""
    return 0 < settings.getint("URLLENGTH_LIMIT") < len(url)

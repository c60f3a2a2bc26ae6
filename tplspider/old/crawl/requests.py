"""The requests of the spider: for key pages, for their links, and for nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.url import strip_url

from tplspider.old.crawl.ticket import META_KEY

if TYPE_CHECKING:
    from collections.abc import Callable

    from tplspider.old.crawl.ticket import Ticket
    from tplspider.search.cliques import Visit


def key_page_request(
    ticket: Ticket, callback: Callable[..., object], errback: Callable[..., object]
) -> Request:
    """The request for a key page, by which a search starts."""
    return Request(
        ticket.session.url, callback, errback=errback, dont_filter=True, meta={META_KEY: ticket}
    )


def link_request(
    ticket: Ticket,
    visit: Visit,
    callback: Callable[..., object],
    errback: Callable[..., object],
    *,
    with_referer: bool,
) -> Request:
    """The request for a link, which is recognized by its ticket."""
    # Whatever page it is requested after, the link is one of the key page.
    referer = {"Referer": strip_url(ticket.session.key_url)} if with_referer else None
    return Request(
        visit.link.url,
        callback,
        errback=errback,
        headers=referer,
        meta={"depth_reset": True, META_KEY: ticket},
        priority=-visit.rank,
        dont_filter=True,
    )


def empty_request(callback: Callable[..., object], **arguments: object) -> Request:
    """A request that loads nothing, for places that may ask for requests but not give items."""
    return Request(
        "data:,",
        callback,
        errback=callback,
        cb_kwargs=arguments,
        dont_filter=True,
        meta={"dont_cache": True},
    )

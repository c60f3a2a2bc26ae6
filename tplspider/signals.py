"""Signals that the spider sends in addition to Scrapy's, for extensions that follow a search.

``search_opened(spider, session)``: a key page is about to be requested.

``search_started(spider, session, search, links, unparsable)``: the key page was read and has that
many links; that many more addresses on it could not be parsed.

``link_settled(spider, session, search, visit)``: the search has taken a link into account.

``search_ended(spider, session, search, summary)``: the search has ended. Its items follow,
*summary* last. *search* is None if the key page could not be used.

``search_settled(spider, session)``: the items have passed the pipelines and are in the feeds.

``line_answered(spider, summary, answer, repeated)``: the summary of a key page, or of a line of a
list, is out; *repeated* if its search was made for an earlier line.

A *session* is all that belongs to one key page (:class:`~tplspider.search.session.SearchSession`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Self

    from scrapy.crawler import Crawler

search_opened = object()
search_started = object()
link_settled = object()
search_ended = object()
search_settled = object()
line_answered = object()


def follow(receiver: object, crawler: Crawler, signals: ModuleType, *names: str) -> None:
    """Connect signals to the methods of a receiver that have the same names."""
    for name in names:
        crawler.signals.connect(getattr(receiver, name), signal=getattr(signals, name))


class Component:
    """An extension, a middleware or a pipeline, which follows the signals of its crawler."""

    def __init__(self, crawler: Crawler) -> None:
        raise NotImplementedError

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

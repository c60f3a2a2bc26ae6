"""Scrapy's responses as the pages that a search reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from tplspider.web.page import WebPage, known_encoding

if TYPE_CHECKING:
    from scrapy.http import Response

_HEADERS = ("Content-Encoding", "Content-Type")


def web_page(response: Response) -> WebPage:
    """What came, as Scrapy and whatever middlewares there are take it: its kind, its encoding."""
    headers = {
        name.lower(): value.decode("latin-1")
        for name in _HEADERS
        if (value := response.headers.get(name)) is not None
    }
    is_html = isinstance(response, HtmlResponse)
    return WebPage(
        response.url,
        response.body,
        response.status,
        headers,
        given_encoding=known_encoding(response.encoding)
        if isinstance(response, HtmlResponse)
        else "",
        given_html=is_html,
    )

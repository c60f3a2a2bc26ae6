"""Where a response redirects to, by HTTP or by meta refresh, before Scrapy reads it.

Scrapy normalises and logs what it finds, so a host that is longer than a host can be and a
``user:password@`` are looked for first.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from scrapy.utils.response import get_meta_refresh
from w3lib.html import replace_entities

from tplspider.web.addresses import clean_href
from tplspider.web.authority import LONGEST_HOST, is_elsewhere, without_user

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.http import HtmlResponse, Response

_LOOKED_AT = 4096  # the characters in which Scrapy looks for a base and a refresh
# A tag as w3lib reads it: in quotes after a "=", a ">" does not end it.
_TAG = re.compile(
    r"""<(?:base|meta)\s[^<>=]*(?:(?:=\s*"[^"]*"|=\s*'[^']*'|=(?!\s*["']))[^<>=]*)*""",
    re.IGNORECASE | re.ASCII,
)
_LONG_HOST = re.compile(rf"[/\\]{{2}}[^/\\?#]{{{LONGEST_HOST + 1}}}")


def clean_location(response: Response) -> Response:
    """*response* without a ``user:password@`` in its Location.

    Raises ValueError when the Location is not an address that can be requested.
    """
    written = (response.headers.get("Location") or b"").decode("utf-8", "surrogateescape")
    location = clean_href(written)
    if is_elsewhere(location):
        raise ValueError("neither http nor https")
    if location.startswith("//"):  # as browsers do, and Scrapy
        location = "//" + location.lstrip("/")
    cleaned = without_user(location)
    if cleaned == location:
        return response
    headers = response.headers.copy()
    headers["Location"] = cleaned.encode("utf-8", "surrogateescape")
    return response.replace(headers=headers)


def meta_refresh(response: HtmlResponse, ignore_tags: Iterable[str]) -> tuple[float, str] | None:
    """The delay and the address of a meta refresh; None where there is none that can be followed.

    *ignore_tags* are those in which it does not count.
    """
    try:
        if _names_long_host(response.text[:_LOOKED_AT]):
            return None
        delay, url = get_meta_refresh(response, ignore_tags=ignore_tags)
        if delay is None or url is None or not url.lower().startswith(("http://", "https://")):
            return None  # browsers do not go elsewhere either
        return delay, without_user(url)
    except (LookupError, ValueError):  # no such encoding, no such address
        return None


def _names_long_host(html: str) -> bool:
    for tag in _TAG.findall(html):
        for written in (tag, replace_entities(tag)):
            if _LONG_HOST.search(clean_href(written)):
                return True
    return False

"""What counts as a redirect, by HTTP or by meta refresh, and where it leads.

The rules for the spider, which leaves the requests to Scrapy, and for every other way to load
pages. A ``user:password@`` is taken off before anything else.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from w3lib.html import get_base_url, get_meta_refresh
from w3lib.url import safe_url_string

from tplspider.web.addresses import clean_href, identity, is_elsewhere, without_user

if TYPE_CHECKING:
    from collections.abc import Container

    from tplspider.web.page import WebPage


REDIRECTS = frozenset({301, 302, 303, 307, 308})
_LONGEST_DELAY = 5.0  # of a meta refresh, in seconds; what waits for longer is a page
_IGNORED_TAGS = ("noscript",)  # in which a meta refresh does not count

_LOOKED_AT = 4096  # the characters in which Scrapy looks for a base and a refresh
_NO_HOST = re.compile(r"[\0-\x20#%/:<>?@\[\\\]^|\x7f]")  # in the words of the URL Standard


def clean_location(written: str) -> str:
    """The value of a Location header, without a ``user:password@``.

    Raises ValueError when it is not an address that can be requested.
    """
    location = clean_href(written)
    if is_elsewhere(location):
        raise ValueError("neither http nor https")
    if location.startswith("//"):  # as browsers do, and Scrapy
        location = "//" + location.lstrip("/")
    return _checked(without_user(location))


def _checked(url: str) -> str:
    """*url*; ValueError if its host has what no host can have, such as a ``%00``."""
    if _NO_HOST.search(unquote((urlsplit(url).hostname or "").replace(":", ""))):
        raise ValueError("a host with forbidden characters")
    return url


def redirect_target(page: WebPage) -> str | None:
    """Where an answer redirects to; None for one that does not.

    Raises ValueError when it redirects to nowhere that can be requested.
    """
    location = page.headers.get("location")
    if page.status in REDIRECTS and location is not None:
        # Headers are read as Latin-1; what is not ASCII is UTF-8, mostly.
        with suppress(UnicodeError):
            location = location.encode("latin-1").decode()
        target = urljoin(page.url, safe_url_string(clean_location(location)))
        if not target.lower().startswith(("http://", "https://")):
            raise ValueError("neither http nor https")
        return target
    return meta_refresh(page) if page.status == 200 and page.is_html else None


def meta_refresh(page: WebPage) -> str | None:
    """Where a page of HTML goes by itself, and soon; None for one that stays.

    A page that refreshes itself stays, and so does one that goes where browsers do not.
    """
    try:
        start = page.text[:_LOOKED_AT]
        base = get_base_url(start, page.url, page.encoding)
        delay, url = get_meta_refresh(start, base, page.encoding, ignore_tags=_IGNORED_TAGS)
        if delay is None or url is None or delay > _LONGEST_DELAY:
            return None
        if not url.lower().startswith(("http://", "https://")):
            return None
        target = _checked(without_user(url))
        return None if identity(target) == identity(page.url) else target
    except (LookupError, ValueError):  # no such encoding, no such address
        return None


def is_loop(target: str, passed: Container[str], *, sets_cookie: bool = False) -> bool:
    """Whether a redirect leads back to where it came from.

    A site may set a cookie and send one back to the same address to look at it.
    """
    return target in passed and not sets_cookie

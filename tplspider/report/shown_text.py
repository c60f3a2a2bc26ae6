"""Texts from the web as they are shown: no character that does harm, and no more than fits."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

# Control characters but for tab and line feed, lone surrogates and what is not a character; and
# what turns the direction of a text, which would reach beyond an attribute or a line of a drawing.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
LONGEST_ADDRESS = 2083  # characters of an address that is a link: more than browsers take is a trap


def harmless(text: str) -> str:
    r"""A text without characters that do harm; white space among them is a space.

    >>> harmless("a\x00b\u202ec\nd\re")
    'abc\nd e'
    """
    return _HARMFUL.sub(lambda found: " " if found[0].isspace() else "", text)


def short(text: str, most: int = 120) -> str:
    r"""A text on one line, cut in its end.

    >>> short("one  two\n three four", 13)
    'one two thre…'
    """
    text = " ".join(harmless(text[: 20 * most]).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def short_address(url: str, most: int = 100) -> str:
    """An address cut in its middle: both ends tell something.

    >>> short_address("http://example.org/a/long/way/page.html", 24)
    'http://examp…y/page.html'
    """
    url = "".join(harmless(url).split())
    if len(url) <= most:
        return url
    return f"{url[: most // 2]}…{url[len(url) - (most - most // 2 - 1) :]}"


def web_link(url: str) -> str:
    """The address if a link may lead there: over http(s), and not too long; '' otherwise.

    >>> web_link("http://example.org/"), web_link("javascript:alert(1)")
    ('http://example.org/', '')
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    is_web = parts.scheme in ("http", "https") and bool(parts.hostname)
    return url if is_web and len(url) <= LONGEST_ADDRESS and harmless(url) == url else ""

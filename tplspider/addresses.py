"""Addresses: when two of them are one link, and how one is read off a page.

Identity is Scrapy's own duplicate rule, w3lib's ``canonicalize_url`` without the fragment. What is
requested is the address as written, made safe for the wire, never its canonical form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urljoin, urlsplit

from w3lib.url import canonicalize_url, safe_url_string

# Most addresses are canonical as they stand, and seeing that with a regular expression is some ten
# times cheaper than urljoin and canonicalize_url. Tests hold both ways to the same identities.
_QUERY = r"\?[A-Za-z0-9_.-]+=[A-Za-z0-9_.-]*(?:&[A-Za-z0-9_.-]+=[A-Za-z0-9_.-]*)*"
_ORIGIN = r"https?://[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[1-9][0-9]{0,3}|:[1-5][0-9]{4})?"
_PLAIN = re.compile(rf"({_ORIGIN})(/[A-Za-z0-9_~./-]*)({_QUERY})?")
_PLAIN_PATH = re.compile(rf"[A-Za-z0-9_~./-]+(?:{_QUERY})?")

_ROOTED = re.compile(r"/(?!/)(?:[^\t\n\r\\/.]|/(?![./])|(?<!/)\.)*")

_TAB_OR_NEWLINE = re.compile(r"[\t\n\r]")
_C0_CONTROL_OR_SPACE = "".join(map(chr, range(0x21)))


@dataclass(frozen=True, slots=True)
class Address:
    """A page address: what is requested, and the identity that tells it from others."""

    url: str
    identity: str


def identity(url: str) -> str:
    """The canonical form of *url*: two addresses are one link when theirs are equal.

    >>> identity("http://Example.org/a?b=2&a=1#top")
    'http://example.org/a?a=1&b=2'
    """
    return _with_sorted_query(url) if _is_plain(url) else canonicalize_url(url)


def clean_href(href: str) -> str:
    r"""An ``href`` as browsers read it: white space taken out, backslashes turned into slashes.

    >>> clean_href(" \\docs\\a.html?q=\\ ")
    '/docs/a.html?q=\\'
    """
    href = _TAB_OR_NEWLINE.sub("", href.strip(_C0_CONTROL_OR_SPACE))
    if "\\" not in href:
        return href
    end = min((i for i in map(href.find, "?#") if i >= 0), default=len(href))
    return href[:end].replace("\\", "/") + href[end:]


class Resolver:
    """Turns the ``href`` values of one page into addresses."""

    def __init__(self, base: str, encoding: str = "utf-8") -> None:
        self.base = base = base.partition("#")[0]
        # As browsers do: a query goes out in the encoding of its page, but never as UTF-16 or 32.
        self.encoding = "utf-8" if encoding.lower().startswith("utf") else encoding
        self._origin = ""
        self._directories: list[str] = []  # that of the base, its parent, ... up to the root
        if (plain := _PLAIN.fullmatch(base.partition("?")[0])) and _is_plain(plain[0]):
            self._origin = plain[1]
            names = plain[2].split("/")[:-1]
            self._directories = ["/".join(names[:k]) + "/" for k in range(len(names), 0, -1)]

    def resolve(self, href: str) -> tuple[str, str] | None:
        """The address to request and its identity, or None when it is not of http or https.

        Raises ValueError when it cannot be parsed.
        """
        href = href.partition("#")[0]
        url = self._resolve_plain(href)
        if url is not None:
            return url, _with_sorted_query(url)
        url = urljoin(self.base, clean_href(href))
        if not url[:8].lower().startswith(("http://", "https://")):
            return None
        if not _is_plain(url):
            url = self._safe(url)
        return url, identity(url)

    def join(self, href: str) -> str:
        """The address alone, as it is written: enough to compare pages, and much cheaper."""
        url = self._resolve_plain(href)
        if url is None and self._origin and _ROOTED.fullmatch(href):
            return self._origin + href
        if url is None:
            try:
                url = urljoin(self.base, clean_href(href))
            except ValueError:
                return href
            origin, slash, path = url.partition("//")
            host, _, rest = path.partition("/")
            url = f"{origin.lower()}//{host.lower()}/{rest}" if slash else url
        return url

    def moved_to(self, base: str) -> Resolver:
        """The resolver of a page with that ``<base href>``; the same one where it is no address."""
        try:
            address = self.resolve(base)
            url = address[0] if address else urljoin(self.base, clean_href(base))
        except ValueError:
            return self
        # As browsers do: these two are no base.
        return self if url.startswith(("data:", "javascript:")) else Resolver(url, self.encoding)

    def _resolve_plain(self, href: str) -> str | None:
        """The common cases, put together without urljoin; None for all others."""
        if href.startswith("http"):
            return href if _is_plain(href) else None
        if not self._origin or not _PLAIN_PATH.fullmatch(href):
            return None
        if href[0] == "/":
            path = href
        else:
            name = href.lstrip("./")
            ups, rest = divmod(len(href) - len(name), 3)
            if rest or not href.startswith("../" * ups):
                return None
            path = self._directories[min(ups, len(self._directories) - 1)] + name
        return None if "//" in path or "/." in path else self._origin + path

    def _safe(self, url: str) -> str:
        """*url* as it goes over the wire."""
        try:
            url = safe_url_string(url, encoding=self.encoding)
        except (UnicodeEncodeError, LookupError):
            url = safe_url_string(url)
        if not urlsplit(url).hostname:
            raise ValueError(f"no host in {url!r}")
        return url


def _is_plain(url: str) -> bool:
    """Whether *url* is canonical as it stands, but for the order of its query's parameters."""
    return bool(_PLAIN.fullmatch(url)) and "//" not in url[8:] and "/." not in url


def _with_sorted_query(plain: str) -> str:
    if "&" not in plain:
        return plain
    address, _, query = plain.partition("?")
    pairs = sorted(pair.partition("=") for pair in query.split("&"))
    return f"{address}?{'&'.join(map(''.join, pairs))}"

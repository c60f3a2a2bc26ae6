"""Addresses: when two of them are one link, how one is read off a page, and whose site it is of.

Identity is Scrapy's own duplicate rule, w3lib's ``canonicalize_url`` without the fragment. What is
requested is the address as written, made safe for the wire, never its canonical form. Neither has a
``user:password@``, which is taken off before anything else.

Whatever parses an address normalises a host beyond ASCII first, and for a host of a million
characters, or a password of that length, this takes minutes. So the host and the user are found by
plain searches of the string.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING
from unicodedata import normalize
from urllib.parse import urljoin, urlsplit

from w3lib.url import canonicalize_url, safe_url_string

if TYPE_CHECKING:
    from collections.abc import Callable

    from tldextract import TLDExtract


LONGEST_HOST = 253  # of a name in the DNS
LONGEST_BASE = 2048  # characters of a base without its query: links are put behind that

_ELSEWHERE = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*+:", re.ASCII | re.IGNORECASE)


def is_elsewhere(href: str) -> bool:
    """Whether an address names a scheme, and one that is neither http nor https.

    >>> is_elsewhere("mailto:me@example.org"), is_elsewhere("a/b:c")
    (True, False)
    """
    return _ELSEWHERE.match(href) is not None


def without_user(href: str) -> str:
    """An address, absolute or not, without ``user:password@``.

    Raises ValueError when its host is longer than a host can be, or its port is not a number.

    >>> without_user("//me:secret@example.org/a@b")
    '//example.org/a@b'
    >>> without_user("///me:secret@example.org/")
    Traceback (most recent call last):
    ValueError: a user name that not all programs would find
    """
    before, authority, rest = _split(href)
    if not authority:
        if _hides_user(href):
            raise ValueError("a user name that not all programs would find")
        return href
    _, user, host_and_port = authority.rpartition("@")
    host, port = _host_and_port(host_and_port)
    check_host(host)
    if port and not (port.isascii() and port.isdigit()):
        raise ValueError("a port that is not a number")
    return f"{before}{host_and_port}{rest}" if user else href


def _hides_user(href: str) -> bool:
    """Whether a browser, which takes any number of slashes for two, would find a user in it."""
    scheme, colon, rest = href.partition(":")
    if colon and scheme.lower() in ("http", "https"):
        href = rest
    elif not href.startswith("///"):
        return False
    start = href.lstrip("/")
    end = min((i for i in map(start.find, "/?#") if i >= 0), default=len(start))
    return "@" in start[:end]


def check_host(host: str) -> None:
    """Raise ValueError for a host that is empty, or longer than a host can be."""
    if not host:
        raise ValueError("no host")
    if len(host) > LONGEST_HOST:
        raise ValueError(f"a host of {len(host)} characters")


def host_of(url: str) -> str:
    """The host of an address, as it is written; '' if it has none.

    >>> host_of("http://me:secret@example.org:8000/")
    'example.org'
    """
    return _host_and_port(_split(url)[1].rpartition("@")[2])[0]


def _split(href: str) -> tuple[str, str, str]:
    """What stands before the authority, the authority itself, and what follows."""
    scheme, slashes, rest = href.partition("//")
    if not slashes or scheme.lower() not in ("", "http:", "https:"):
        return "", "", href
    end = min((i for i in map(rest.find, "/?#") if i >= 0), default=len(rest))
    return scheme + slashes, rest[:end], rest[end:]


def _host_and_port(authority: str) -> tuple[str, str]:
    if authority.startswith("["):
        host, bracket, port = authority.partition("]")
        return host + bracket, port.removeprefix(":")
    host, _, port = authority.partition(":")
    return host, port


# Most addresses are canonical as they stand, and seeing that with a regular expression is some ten
# times cheaper than urljoin and canonicalize_url. Tests hold both ways to the same identities.
_PAIR = r"[A-Za-z0-9_.-]++(?:=[A-Za-z0-9_.-]*+)?+"
_QUERY = rf"\?{_PAIR}(?:&{_PAIR})*+"
_ORIGIN = r"https?://[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?(?::[1-9][0-9]{0,3}|:[1-5][0-9]{4})?"
_PLAIN = re.compile(rf"({_ORIGIN})(/[A-Za-z0-9_~./-]*)({_QUERY})?")
# Others are canonical, too, though links to them are not as simple to resolve.
_ESCAPE = "%(?:[89A-F][0-9A-F]|20|22|2F|3C|3E|3F)"
_KEPT = r"[A-Za-z0-9_~./:,=()!*@+-]*+"
_CANONICAL = re.compile(rf"{_ORIGIN}/{_KEPT}(?:{_ESCAPE}{_KEPT})*+")
# Most of all have neither a port nor a query: one look is enough then.
_SIMPLE = re.compile(
    r"https?://[a-z0-9][a-z0-9.-]{0,251}+(?<=[a-z0-9])/(?:[A-Za-z0-9_~-][A-Za-z0-9_~.-]*+/?+)*+"
)
_PLAIN_PATH = re.compile(rf"[A-Za-z0-9_~./-]+(?:{_QUERY})?|{_QUERY}")

_C0_CONTROL_OR_SPACE = "".join(map(chr, range(0x21)))


@dataclass(frozen=True, slots=True)
class Address:
    """A page address: what is requested, and the identity that tells it from others."""

    url: str
    identity: str


def identity(url: str) -> str:
    """The canonical form of *url*: two addresses are one link when theirs are equal.

    Raises ValueError when it cannot be parsed.

    >>> identity("http://me:secret@Example.org/a?b=2&a=1#top")
    'http://example.org/a?a=1&b=2'
    """
    if is_simple(url):
        return url
    if _is_plain(url):
        return _with_sorted_query(url)
    if "/." not in url and _CANONICAL.fullmatch(url):
        return url
    return canonicalize_url(without_user(url))


def is_simple(url: str) -> bool:
    """Whether *url* is seen at a glance to be of http or https, and its own identity."""
    return _SIMPLE.fullmatch(url) is not None


def clean_href(href: str) -> str:
    r"""An ``href`` as browsers read it: white space taken out, backslashes turned into slashes.

    >>> clean_href(" \\docs\\a.html?q=\\ ")
    '/docs/a.html?q=\\'
    """
    href = href.strip(_C0_CONTROL_OR_SPACE)
    for blank in "\t\n\r":
        href = href.replace(blank, "")
    if "\\" not in href:
        return href
    end = min((i for i in map(href.find, "?#") if i >= 0), default=len(href))
    return href[:end].replace("\\", "/") + href[end:]


class Resolver:
    """Turns the ``href`` values of one page into addresses.

    A host beyond ASCII that *may_hold* says no to is not one of
    the site, and its canonical form, which is costly to work out, is of no interest.
    """

    def __init__(
        self,
        base: str,
        encoding: str = "utf-8",
        may_hold: Callable[[str], bool] | None = None,
    ) -> None:
        base = base.partition("#")[0]
        with suppress(ValueError):  # the address of a page in memory may be anything
            base = without_user(base)
        self.base = base
        # As browsers do: a query goes out in the encoding of its page, but never as UTF-16 or 32.
        self.encoding = "utf-8" if encoding.lower().startswith("utf") else encoding
        self.may_hold = may_hold
        self._origin = self._path = self._directory = ""
        if (plain := _PLAIN.fullmatch(base.partition("?")[0])) and _is_plain(plain[0]):
            self._origin, self._path = plain[1], plain[2]
            self._directory = self._path[: self._path.rfind("/") + 1]

    def resolve(self, href: str) -> tuple[str, str] | None:
        """The address to request and its identity.

        None when it is not of http or https, or not one of the site. Raises ValueError when it
        cannot be parsed.
        """
        href = href.partition("#")[0]
        url = self._resolve_plain(href)
        if url is not None:
            return url, _with_sorted_query(url)
        href = clean_href(href)
        if is_elsewhere(href):
            return None
        url = urljoin(self.base, without_user(href))
        if not url[:8].lower().startswith(("http://", "https://")):
            return None
        host = host_of(url)
        if self.may_hold and not host.isascii() and not self.may_hold(host):
            return None
        if not _is_plain(url):
            url = self._safe(url)
        return url, identity(url)

    def join(self, href: str) -> str:
        """The address alone, as it is written: enough to compare pages, and much cheaper."""
        url = self._resolve_plain(href)
        if url is None:
            url = clean_href(href)
            try:
                url = url if is_elsewhere(url) else urljoin(self.base, without_user(url))
            except ValueError:
                return href
            origin, slash, path = url.partition("//")
            host, _, rest = path.partition("/")
            url = f"{origin.lower()}//{host.lower()}/{rest}" if slash else url
        return url

    def moved_to(self, base: str) -> Resolver:
        """The resolver of a page with that ``<base href>``; the same one for a bad address."""
        base = clean_href(base)
        if base.startswith(("data:", "javascript:")):
            return self  # as browsers do: these two cannot be a base
        try:
            address = self.resolve(base)
            if is_elsewhere(base):
                url = f"{base.partition(':')[0]}:"  # what is relative to it is elsewhere, too
            else:
                url = address[0] if address else urljoin(self.base, without_user(base))
        except ValueError:
            return self
        is_bad = len(url.partition("?")[0]) > LONGEST_BASE
        return self if is_bad else Resolver(url, self.encoding, self.may_hold)

    def _resolve_plain(self, href: str) -> str | None:
        """The common cases, put together without urljoin; None for all others."""
        if href.startswith("http"):
            return href if _is_plain(href) else None
        if not self._origin or not _PLAIN_PATH.fullmatch(href):
            return None
        if href[0] == "/":
            path = href
        elif href[0] == "?":
            path = self._path + href
        else:
            name = href.lstrip("./")
            ups, rest = divmod(len(href) - len(name), 3)
            if rest or not href.startswith("../" * ups):
                return None
            end = len(self._directory)
            while ups and end > 1:
                ups, end = ups - 1, self._directory.rfind("/", 0, end - 1) + 1
            path = self._directory[:end] + name
        return None if "//" in path or "/." in path else self._origin + path

    def _safe(self, url: str) -> str:
        """*url* as it goes over the wire."""
        try:
            url = safe_url_string(url, encoding=self.encoding)
        except (UnicodeEncodeError, LookupError):
            url = safe_url_string(url)
        check_host(urlsplit(url).hostname or "")
        return url


def _is_plain(url: str) -> bool:
    """Whether *url* is canonical as it stands, but for the order of its query's parameters."""
    return bool(_PLAIN.fullmatch(url)) and "//" not in url[8:] and "/." not in url


def _with_sorted_query(plain: str) -> str:
    address, mark, query = plain.partition("?")
    if "&" not in query and ("=" in query or not mark):
        return plain
    pairs = sorted(pair.partition("=") for pair in query.split("&"))
    return f"{address}?{'&'.join(f'{name}={value}' for name, _, value in pairs)}"


SCOPES = ("host", "domain")


class Site:
    """The website of a key page: its host (``www.`` ignored) and port, or its registered domain."""

    def __init__(self, key_identity: str, scope: str = "host") -> None:
        if scope not in SCOPES:
            raise ValueError(f"unknown scope {scope!r}: expected one of {', '.join(SCOPES)}")
        self.scope = scope
        self._site = self._name(key_identity)
        self._known: dict[str, bool] = {}
        try:
            self._folded = self._site[0].encode().decode("idna").casefold()
        except UnicodeError:  # not a name in the DNS
            self._folded = ""

    def __contains__(self, identity: str) -> bool:
        """Whether the page with this identity is one of the site."""
        # Thousands of links share a handful of origins: each origin is judged once.
        origin = identity[: identity.find("/", 8)]
        inside = self._known.get(origin)
        if inside is None:
            inside = self._known[origin] = self._name(identity) == self._site
        return inside

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Site) and (self.scope, self._site) == (other.scope, other._site)

    def __hash__(self) -> int:
        return hash((self.scope, self._site))

    def may_hold(self, host: str) -> bool:
        """Whether a host beyond ASCII may be one of the site: no is certain, yes is not.

        Its form in the DNS is costly to work out, and a page may have thousands of hosts.
        """
        return self._folded in normalize("NFKC", host).casefold()

    def _name(self, identity: str) -> tuple[str, int | None]:
        host, port = _site_host_and_port(identity)
        if self.scope == "domain" and (domain := registered_domain(host)):
            return domain, None
        return host, port


def site_name(identity: str) -> str:
    """What all pages of a site have in common, the site being a host: for naming it.

    >>> site_name("https://www.example.org/a"), site_name("http://example.org:8080/")
    ('example.org', 'example.org:8080')
    """
    host, port = _site_host_and_port(identity)
    return host if port is None else f"{host}:{port}"


def _site_host_and_port(identity: str) -> tuple[str, int | None]:
    """The host without ``www.``, and the port unless it is that of the scheme."""
    parts = urlsplit(identity)
    host = (parts.hostname or "").removeprefix("www.")
    is_default = (parts.scheme, parts.port) in {("http", 80), ("https", 443)}
    return host, None if is_default else parts.port


@lru_cache(maxsize=1)
def _public_suffixes() -> TLDExtract:
    # Imported lazily: it comes with a client for HTTP, and most do without registered domains.
    from tldextract import TLDExtract

    # The copy of the Public Suffix List inside tldextract: no look-up, no cache on disk.
    return TLDExtract(suffix_list_urls=(), cache_dir=None)


def registered_domain(host: str) -> str:
    """The registered domain, or '' for an address or a name without one.

    >>> registered_domain("blog.example.co.uk")
    'example.co.uk'
    """
    return _public_suffixes()(host).top_domain_under_public_suffix


def place_of(identity: str) -> int:
    """The place of the page with this identity in every draw of pages, the same on every machine.

    It is a number of 64 bits that tells an address from others, too.
    """
    return int.from_bytes(blake2b(identity.encode("utf-8", "replace"), digest_size=8).digest())

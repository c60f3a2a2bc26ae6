"""Which addresses belong to the website of the key page."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING
from unicodedata import normalize
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from tldextract import TLDExtract

SCOPES = ("host", "domain")

# Soft hyphens and the like: table B.1 of RFC 3454.
_LEFT_OUT = re.compile("[\u00ad\u034f\u1806\u180b-\u180d\u200b-\u200d\u2060\ufe00-\ufe0f\ufeff]")


class Site:
    """The website of a key page: its host (``www.`` ignored) and port, or its registered domain."""

    def __init__(self, key_identity: str, scope: str = "host") -> None:
        if scope not in SCOPES:
            raise ValueError(f"unknown scope {scope!r}: expected one of {', '.join(SCOPES)}")
        self.scope = scope
        self._site = self._name(key_identity)
        self._known: dict[str, bool] = {}
        try:
            self._folded = fold_host(self._site[0].encode().decode("idna"))
        except UnicodeError:  # not a name that can be spelt otherwise
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
        folded = fold_host(host)
        return (
            not self._folded
            or folded.removeprefix("www.") == self._folded
            or (self.scope == "domain" and folded.endswith(f".{self._folded}"))
        )

    def _name(self, identity: str) -> tuple[str, int | None]:
        host, port = _host_and_port(identity)
        if self.scope == "domain" and (domain := registered_domain(host)):
            return domain, None
        return host, port


def site_name(identity: str) -> str:
    """What all pages of a site have in common, the site being a host: for naming it.

    >>> site_name("https://www.example.org/a"), site_name("http://example.org:8080/")
    ('example.org', 'example.org:8080')
    """
    host, port = _host_and_port(identity)
    return host if port is None else f"{host}:{port}"


def _host_and_port(identity: str) -> tuple[str, int | None]:
    """The host without ``www.``, and the port unless it is that of the scheme."""
    parts = urlsplit(identity)
    host = (parts.hostname or "").removeprefix("www.")
    port = parts.port
    if (parts.scheme, port) in {("http", 80), ("https", 443)}:
        port = None
    return host, port


def fold_host(host: str) -> str:
    """What all spellings of a host have in common, that is, those with one form in the DNS.

    >>> fold_host("ＢÜ\u00adCHER。example.")
    'bücher.example'
    """
    # What IDNA leaves out, what it takes for a dot, and what it does to letters, or more.
    folded = normalize("NFKC", _LEFT_OUT.sub("", host))
    folded = normalize("NFKC", folded.casefold()).casefold()
    return folded.replace("\u3002", ".").strip(".")


@lru_cache(maxsize=1)
def _public_suffixes() -> TLDExtract:
    # Here and not above: it comes with a client for HTTP, and most do without registered domains.
    from tldextract import TLDExtract

    # The copy of the Public Suffix List inside tldextract: no look-up, no cache on disk.
    return TLDExtract(suffix_list_urls=(), cache_dir=None)


def registered_domain(host: str) -> str:
    """The domain that somebody registered, or '' for an address or a name without one.

    >>> registered_domain("blog.example.co.uk")
    'example.co.uk'
    """
    return _public_suffixes()(host).top_domain_under_public_suffix

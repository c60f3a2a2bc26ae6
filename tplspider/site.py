"""Which addresses belong to the website of the key page."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from tldextract import TLDExtract

SCOPES = ("host", "domain")


class Site:
    """The website of a key page: its host (``www.`` ignored) and port, or its registered domain."""

    def __init__(self, key_identity: str, scope: str = "host") -> None:
        if scope not in SCOPES:
            raise ValueError(f"unknown scope {scope!r}: expected one of {', '.join(SCOPES)}")
        self.scope = scope
        self._site = self._name(key_identity)
        self._known: dict[str, bool] = {}

    def __contains__(self, identity: str) -> bool:
        """Whether the page with this identity is one of the site."""
        # Thousands of links share a handful of origins: each origin is judged once.
        origin = identity[: identity.find("/", 8)]
        inside = self._known.get(origin)
        if inside is None:
            inside = self._known[origin] = self._name(identity) == self._site
        return inside

    def _name(self, identity: str) -> tuple[str, int | None]:
        parts = urlsplit(identity)
        host = (parts.hostname or "").removeprefix("www.")
        if self.scope == "domain" and (domain := registered_domain(host)):
            return domain, None
        port = parts.port
        if (parts.scheme, port) in {("http", 80), ("https", 443)}:
            port = None
        return host, port


@lru_cache(maxsize=1)
def _public_suffixes() -> TLDExtract:
    # The copy of the Public Suffix List inside tldextract: no look-up, no cache on disk.
    return TLDExtract(suffix_list_urls=(), cache_dir=None)


def registered_domain(host: str) -> str:
    """The domain that somebody registered, or '' for an address or a name without one.

    >>> registered_domain("blog.example.co.uk")
    'example.co.uk'
    """
    return _public_suffixes()(host).top_domain_under_public_suffix

"""Why a key page has no links: it has none at all, or they all lead elsewhere."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tplspider.web.addresses import Resolver, clean_href, identity
from tplspider.web.authority import is_elsewhere
from tplspider.web.html import find_all
from tplspider.web.links import page_resolver
from tplspider.web.site import registered_domain

if TYPE_CHECKING:
    from tplspider.web.html import Element
    from tplspider.web.site import Site

_ELSEWHERE, _ITSELF, _FILE, _OTHER = (
    "to other sites",
    "to the key page itself",
    "to files that are not pages",
    "not to a web address",
)


def no_links_hint(
    root: Element, url: str, site: Site, encoding: str = "utf-8", *, longest: int = 0
) -> str:
    """What to tell the user of a key page for which getLinks gives nothing.

    *longest* is that of :func:`~tplspider.web.links.get_links`.
    """
    resolver = page_resolver(root, url, site, encoding, longest)
    domain = registered_domain(urlsplit(identity(url)).hostname or "")
    kinds = Counter[str]()
    same_domain = 0
    for element in find_all(root, "a", "area"):
        href = element.get("href")
        if href is None:
            continue
        kind, host = _destination(resolver, href, site, identity(url))
        kinds[kind] += 1
        if domain and kind == _ELSEWHERE:
            same_domain += f".{host}".endswith(f".{domain}")
    if not kinds:
        return "the key page has no link at all"
    ways = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    text = f"no link of the key page leads to another page of its site: {ways}"
    if same_domain:
        text += f" ({same_domain} of its own domain: -a scope=domain takes them in)"
    return text


def _destination(resolver: Resolver, href: str, site: Site, own: str) -> tuple[str, str]:
    """Where an address leads that is not one of another page of the site, and its host."""
    try:
        address = resolver.resolve(href)
    except ValueError:
        return _OTHER, ""
    if address is None:
        return (_OTHER if is_elsewhere(clean_href(href)) else _ELSEWHERE), ""
    if address[1] not in site:
        return _ELSEWHERE, urlsplit(address[1]).hostname or ""
    return (_ITSELF if address[1] == own else _FILE), ""

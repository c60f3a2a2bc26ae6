"""Why a key page has no links: it has none at all, or they all lead elsewhere."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tplspider.addresses import identity
from tplspider.links import page_resolver
from tplspider.site import registered_domain
from tplspider.tree import find_all

if TYPE_CHECKING:
    from tplspider.site import Site
    from tplspider.tree import Element

_ELSEWHERE, _ITSELF, _FILE, _OTHER = (
    "to other sites",
    "to the key page itself",
    "to files that are not pages",
    "not to a web address",
)


def no_links_hint(root: Element, url: str, site: Site, encoding: str = "utf-8") -> str:
    """What to tell the user of a key page for which getLinks gives nothing."""
    resolver = page_resolver(root, url, encoding)
    kinds = Counter[str]()
    same_domain = 0
    elements = [element for element in find_all(root, "a", "area") if element.get("href")]
    for element in elements:
        try:
            address = resolver.resolve(element.get("href") or "")
        except ValueError:
            address = None
        if address is None:
            kinds[_OTHER] += 1
        elif address[1] not in site:
            kinds[_ELSEWHERE] += 1
            same_domain += _are_of_one_domain(address[1], url)
        else:
            kinds[_ITSELF if address[1] == identity(url) else _FILE] += 1
    if not kinds:
        return "the key page has no link at all"
    ways = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    text = f"no link of the key page leads to another page of its site: {ways}"
    if same_domain:
        text += f" ({same_domain} of its own domain: -a scope=domain takes them in)"
    return text


def _are_of_one_domain(url: str, other: str) -> bool:
    one, two = (registered_domain(urlsplit(address).hostname or "") for address in (url, other))
    return bool(one) and one == two

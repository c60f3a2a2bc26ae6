"""getLinks: the links of a page that lead to other pages of the same site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.addresses import Address, Resolver, identity
from tplspider.ignored_extensions import IGNORED_EXTENSIONS
from tplspider.tree import fold, string_xpath, strings_xpath

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.site import Site
    from tplspider.tree import Element

_BASE = string_xpath("string((//base/@href)[1])")
_TEXT = strings_xpath(".//text()[not(parent::script or parent::style)]")
_ALT = string_xpath("string((self::area | .//img)[normalize-space(@alt)][1]/@alt)")


@dataclass(frozen=True, slots=True)
class Link(Address):
    """A link of the key page, with the first element that carries it."""

    element: Element

    @property
    def anchor_text(self) -> str:
        """The words of the link, folded; those of its image where it has none of its own."""
        return fold("".join(_TEXT(self.element))) or fold(_ALT(self.element))

    @property
    def dom_path(self) -> str:
        """Where the link stands on the key page, as an XPath."""
        return self.element.getroottree().getpath(self.element)


@dataclass(slots=True)
class LinkCount:
    """What was met while links were read: addresses that cannot be parsed are counted."""

    unparsable: int = 0


def get_links(
    root: Element,
    url: str,
    site: Site,
    encoding: str = "utf-8",
    count: LinkCount | None = None,
) -> list[Link]:
    """The paper's getLinks: one entry an identity, in document order, self-links left out."""
    return [Link(*link) for link in _links(root, url, site, encoding, count or LinkCount())]


def link_identities(root: Element, url: str, site: Site, encoding: str = "utf-8") -> frozenset[str]:
    """The identities of getLinks alone, which is all that is asked of a page but the key page."""
    return frozenset(link[1] for link in _links(root, url, site, encoding, LinkCount()))


def _links(
    root: Element, url: str, site: Site, encoding: str, count: LinkCount
) -> Iterator[tuple[str, str, Element]]:
    resolver = _resolver(root, url, encoding)
    seen = {identity(url)}
    read = set()
    for element in _link_elements(root):
        href = element.get("href")
        if href is None or href in read or element.get("download") is not None:
            continue
        read.add(href)
        try:
            address = resolver.resolve(href)
        except ValueError:
            count.unparsable += 1
            continue
        if address is None or address[1] in seen or address[1] not in site:
            continue
        if not _is_ignored(address[0]):
            seen.add(address[1])
            yield *address, element


def _link_elements(root: Element) -> Iterator[Element]:
    # A page that closes </html> before its <body> has two top-level elements.
    top = root.getroottree().getroot()
    first = next(reversed([top, *top.itersiblings(preceding=True)]))
    for element in (first, *first.itersiblings()):
        yield from element.iter("a", "area")


def _resolver(root: Element, url: str, encoding: str) -> Resolver:
    """Addresses are relative to the first ``<base href>`` in the tree, wherever it stands."""
    page = Resolver(url, encoding)
    base = _BASE(root)
    try:
        address = page.resolve(base) if base else None
    except ValueError:
        address = None
    return Resolver(address[0], encoding) if address else page


def _is_ignored(url: str) -> bool:
    """Whether the path ends like a file that is no page: ``.pdf``, ``.zip``, ``.tar.gz`` ..."""
    if url.endswith((".html", "/")):  # most of them, and the rest of this is dear
        return False
    name = url.partition("?")[0].rpartition("/")[2].partition(";")[0].lower()
    _, dot, ending = name.partition(".")
    while dot:
        if ending in IGNORED_EXTENSIONS:
            return True
        _, dot, ending = ending.partition(".")
    return False

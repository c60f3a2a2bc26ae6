"""getLinks: the links of a page that lead to other pages of the same site."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.web.addresses import Address, Resolver, identity
from tplspider.web.html import find_all, fold, string_xpath, strings_xpath
from tplspider.web.ignored_extensions import IGNORED_EXTENSIONS

if TYPE_CHECKING:
    from tplspider.web.html import Element
    from tplspider.web.site import Site

_A_HREFS = strings_xpath("//a[not(@download)]/@href")
_AREA_HREFS = strings_xpath("//area[not(@download)]/@href")
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
    *,
    longest: int = 0,
) -> list[Link]:
    """The paper's getLinks: one entry for each identity, in document order, self-links left out.

    An address of more than *longest* characters (0 for no limit) is kept as it is written: it is
    not going to be requested, and making a million characters canonical takes long.
    """
    resolver = page_resolver(root, url, site, encoding, longest)
    seen = {identity(url)}
    read = set()
    links = []
    for element in find_all(root, "a", "area"):
        href = element.get("href")
        if href is None or href in read or element.get("download") is not None:
            continue
        read.add(href)
        try:
            address = _page_address(resolver, href, site)
        except ValueError:
            if count:
                count.unparsable += 1
            continue
        if address and address[1] not in seen:
            seen.add(address[1])
            links.append(Link(*address, element))
    return links


def link_addresses(
    root: Element, url: str, site: Site, encoding: str = "utf-8", *, longest: int = 0
) -> dict[str, str]:
    """GetLinks without its elements, which is all that is asked of a page but the key page.

    The addresses by their identities; of several for one, one that is always the same.
    """
    resolver = page_resolver(root, url, site, encoding, longest)
    addresses: dict[str, str] = {}
    # Strings alone: an object for each element would cost more than all the rest.
    for href in {*_A_HREFS(root), *_AREA_HREFS(root)}:
        try:
            address = _page_address(resolver, href, site)
        except ValueError:
            continue
        if address and (known := addresses.setdefault(address[1], address[0])) != address[0]:
            addresses[address[1]] = min(known, address[0])
    addresses.pop(identity(url), None)
    return addresses


def _page_address(resolver: Resolver, href: str, site: Site) -> tuple[str, str] | None:
    """The address and identity that *href* stands for, if it may be a page of the site."""
    address = resolver.resolve(href)
    if address is None or address[1] not in site or _is_ignored(address[0]):
        return None
    return address


def page_resolver(root: Element, url: str, site: Site, encoding: str, longest: int) -> Resolver:
    """Addresses are relative to the first ``<base href>`` in the tree, wherever it stands."""
    page = Resolver(url, encoding, longest, site.may_hold)
    bases = (element.get("href") for element in find_all(root, "base"))
    base = next((href for href in bases if href is not None), "")
    return page.moved_to(base) if base else page


def _is_ignored(url: str) -> bool:
    """Whether the path ends like a file that is not a page: ``.pdf``, ``.zip``, ``.tar.gz`` ..."""
    path = url.partition("?")[0]
    if path.endswith((".html", "/")):  # most of them, and the rest is costly
        return False
    name = path.rpartition("/")[2].partition(";")[0].lower()
    endings = name.rsplit(".", 2)[1:]
    return bool(endings) and not IGNORED_EXTENSIONS.isdisjoint({endings[-1], ".".join(endings)})

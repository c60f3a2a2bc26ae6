"""A page as the search sees it: its address, its links, a fingerprint of its text, its outline."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING

from tplspider.web.addresses import identity
from tplspider.web.html import find_all, fold, main_body, string_xpath, visible_texts
from tplspider.web.links import link_addresses
from tplspider.web.similarity import Outline, outline

if TYPE_CHECKING:
    from tplspider.web.html import Element
    from tplspider.web.site import Site

_TEXT = string_xpath("string(.)")


@dataclass(frozen=True, slots=True)
class Page:
    """A loaded page: *links* are the identities of getLinks, *url* is where redirects ended."""

    url: str
    identity: str
    links: frozenset[str] = frozenset()
    fingerprint: bytes | None = None
    title: str = ""
    outline: Outline = field(default_factory=Outline)
    # What a template takes, if one is wanted: tags with their classes, which tell the kind of the
    # page; and the links that are not written as their identities, with how they are written.
    names: frozenset[tuple[str, str]] = frozenset()
    written: tuple[tuple[str, str], ...] = ()


def read_page(
    root: Element,
    url: str,
    site: Site,
    encoding: str = "utf-8",
    *,
    longest: int = 0,
    for_template: bool = False,
) -> Page:
    """What the search needs to know of the page with this tree, loaded from *url*.

    *longest* is that of :func:`~tplspider.web.links.get_links`. *for_template*, there is also what
    the choice of a witness takes.
    """
    addresses = link_addresses(root, url, site, encoding, longest=longest)
    texts = visible_texts(root)
    return Page(
        url=url,
        identity=identity(url),
        links=frozenset(addresses),
        fingerprint=fingerprint(fold(" ".join(texts))),
        title=next((fold(_TEXT(title)) for title in find_all(root, "title")), ""),
        outline=outline(root, texts),
        names=class_names(root) if for_template else frozenset(),
        written=tuple(pair for pair in sorted(addresses.items()) if pair[0] != pair[1])
        if for_template
        else (),
    )


def class_names(root: Element) -> frozenset[tuple[str, str]]:
    """The tags in the body of a page that have classes, with these."""
    named = ((str(element.tag), element.get("class")) for element in main_body(root).iter("*"))
    return frozenset((tag, name) for tag, name in named if name)


def fingerprint(text: str) -> bytes | None:
    """A short stand-in for a page's text; None for no text: such pages are not duplicates."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() if text else None

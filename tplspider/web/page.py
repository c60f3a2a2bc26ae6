"""A page as the search sees it: its address, its links, a fingerprint of its text, its outline."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from string import digits, punctuation
from typing import TYPE_CHECKING
from zlib import crc32

from tplspider.web.addresses import identity
from tplspider.web.html import find_all, fold, main_body, string_xpath, top_level, visible_texts
from tplspider.web.links import link_addresses

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tplspider.web.html import Element
    from tplspider.web.site import Site

_TEXT = string_xpath("string(.)")
# What lays a page out. Other elements are mostly markup of running text, and half of a page.
_FRAME = (
    "a article aside body center div font footer form h1 h2 h3 header img input li main nav ol p"
    " section table td tr ul"
).split()
_SHORT = 40  # characters: words of a menu, of a button, of a heading
_DECORATION = digits + punctuation + " «»·•—→©"
MOST_HASHES = 2048  # hashes of a kind that are kept of a page


@dataclass(frozen=True, slots=True)
class Outline:
    """What is kept of a page to compare it by: sorted hashes, four bytes each.

    *elements* are the pairs of elements of the frame that follow each other in the document, each
    by its tag and its class; *texts* are the short texts. Of very large pages the smallest hashes
    are kept, which are a random sample, and the same one on every page.
    """

    elements: bytes = b""
    texts: bytes = b""


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


def outline(root: Element, texts: Iterable[str]) -> Outline:
    """The outline of the page with this tree and these visible texts."""
    # Lists of one thing each: this is done for every page, and there may be thousands of elements.
    elements = [element for top in top_level(root) for element in top.iter(*_FRAME)]
    classes = [element.get("class") for element in elements]
    tags = [element.tag for element in elements]
    labels = [f"{t}.{c}" if c else t for t, c in zip(tags, classes, strict=True)]
    pairs = set(pairwise(labels))
    stripped = {text.strip() for text in texts}
    short = {fold(text).strip(_DECORATION) for text in stripped if len(text) <= _SHORT}
    return Outline(_hashes(map("\n".join, pairs)), _hashes(short - {""}))


def _hashes(features: Iterable[str]) -> bytes:
    hashes = {crc32(feature.encode("utf-8", "surrogatepass")) for feature in features}
    return array("I", sorted(hashes)[:MOST_HASHES]).tobytes()

"""Similarity: how much of the key page's structure another page has, from 0 to 1.

Links decide what is a member; this tells how sure that is. It compares what reading a page has at
hand anyway: the elements in document order, the short texts, and the links.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from itertools import pairwise
from string import digits, punctuation
from typing import TYPE_CHECKING
from zlib import crc32

from tplspider.web.html import fold, top_level

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tplspider.web.html import Element
    from tplspider.web.page import Page

# Between the pages of other sites (9 of 10 are below it, though read as if they were pages of the
# key page's site) and the members of a CS (all of them are above): see docs/evaluation.md.
LOW_SIMILARITY = 0.25

# What lays a page out. Other elements are mostly markup of running text, and half of a page.
_FRAME = (
    "a article aside body center div font footer form h1 h2 h3 header img input li main nav ol p"
    " section table td tr ul"
).split()
_SHORT = 40  # characters: words of a menu, of a button, of a heading
_DECORATION = digits + punctuation + " «»·•—→©"
_MOST = 2048  # hashes of a kind that are kept of a page


@dataclass(frozen=True, slots=True)
class Outline:
    """What is kept of a page to compare it by: sorted hashes, four bytes each.

    *elements* are the pairs of elements of the frame that follow each other in the document, each
    by its tag and its class; *texts* are the short texts. Of very large pages the smallest hashes
    are kept, which are a random sample, and the same one on every page.
    """

    elements: bytes = b""
    texts: bytes = b""


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


def similarity(key_page: Page, page: Page) -> float:
    """The mean share of the key page's pairs of elements, short texts and links that *page* has.

    What the key page has none of is left out; 0 if there is nothing to compare.
    """
    links = key_page.links - {page.identity}  # no page links to itself
    shares = [
        _share(key_page.outline.elements, page.outline.elements),
        _share(key_page.outline.texts, page.outline.texts),
        len(links & page.links) / len(links) if links else None,
    ]
    known = [share for share in shares if share is not None]
    return round(sum(known) / len(known), 3) if known else 0.0


def _hashes(features: Iterable[str]) -> bytes:
    hashes = {crc32(feature.encode("utf-8", "surrogatepass")) for feature in features}
    return array("I", sorted(hashes)[:_MOST]).tobytes()


def _share(of: bytes, by: bytes) -> float | None:
    """The share of the features of one page that another has, too; None if there are none."""
    wanted, had = array("I", of), array("I", by)
    if len(had) == _MOST:  # of what is beyond its last hash, nobody knows whether the page has it
        wanted = array("I", [feature for feature in wanted if feature <= had[-1]])
    return len(set(wanted).intersection(had)) / len(wanted) if wanted else None

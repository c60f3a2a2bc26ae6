"""Similarity: how much of the key page's structure another page has, from 0 to 1.

Links decide what is a member; this tells how sure that is. It compares what reading a page has at
hand anyway: the elements in document order, the short texts, and the links.
"""

from __future__ import annotations

from array import array

from tplspider.web.page import MOST_HASHES, Page

# Between the pages of other sites (9 of 10 are below it, though read as if they were pages of the
# key page's site) and the members of a CS (all of them are above): see docs/evaluation.md.
LOW_SIMILARITY = 0.25


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


def _share(of: bytes, by: bytes) -> float | None:
    """The share of the features of one page that another has, too; None if there are none."""
    wanted, had = array("I", of), array("I", by)
    if len(had) == MOST_HASHES:  # what is beyond its last hash is unknown
        wanted = array("I", [feature for feature in wanted if feature <= had[-1]])
    return len(set(wanted).intersection(had)) / len(wanted) if wanted else None

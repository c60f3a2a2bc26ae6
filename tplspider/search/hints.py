"""Hints: what a person should know about an answer, or why there is none, and what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.web.html import Element, no_links_hint, script_menu_hint
from tplspider.web.page import BAD_RESPONSE, CONNECTION, DNS, NOT_ARCHIVED, TIMEOUT, WebPage
from tplspider.web.similarity import LOW_SIMILARITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.web.addresses import Site

_ONE_PAGE = (
    "one page alone proves nothing: no other page confirms that it has the key page's template"
)
NO_EVIDENCE = "no other page gave evidence of the template, so nothing is known to be template"
EMPTY_ANSWER = "the answer is empty"
_HTTPS_ASSUMED = "https was assumed, as the address has no scheme: is it http://...?"
_NOBODY_THERE = (CONNECTION, DNS, TIMEOUT, NOT_ARCHIVED)
_WANTED = 3  # pages, of which each is confirmed by others


def joined(*hints: str) -> str:
    """Several hints as one text; '' for none."""
    return "; ".join(filter(None, hints))


def scheme_hint(key_outcome: str, requested_url: str) -> str:
    """What to tell where nobody answers at an address that was given without a scheme."""
    assumed = key_outcome in _NOBODY_THERE and "//" not in requested_url
    return _HTTPS_ASSUMED if assumed else ""


def key_page_hint(
    root: Element, page: WebPage, site: Site, links: int, *, longest: int, runs_scripts: bool
) -> str:
    """What to tell of a key page with that many links; '' for most pages."""
    return joined(
        "" if links else no_links_hint(root, page.url, site, page.encoding, longest=longest),
        "" if runs_scripts else script_menu_hint(root, links),
    )


def key_page_fault_hint(page: WebPage, fault: str) -> str:
    """What to tell of an answer that is not a page to search from; '' if its fault says it all."""
    return EMPTY_ANSWER if fault == BAD_RESPONSE and not page.body else ""


def answer_hint(similarities: Sequence[float], size: int, links: int) -> str:
    """What to tell of members that are so similar to the key page.

    *size* of them were wanted; the key page has so many *links*, and no more can be asked for.
    """
    hints = []
    found = len(similarities)
    if found == 1:
        more = f"; ask for more (-a n={min(links, _WANTED)})" if size == 1 < links else ""
        hints.append(_ONE_PAGE + more)
    if low := [value for value in similarities if value < LOW_SIMILARITY]:
        which = "the page found" if found == 1 else f"{len(low)} of the {found} pages found"
        hints.append(
            f"{which} {'shares' if len(low) == 1 else 'share'} next to nothing with the key page"
            f" (similarity {min(low):.2f}, below {LOW_SIMILARITY}): the template may be another one"
        )
    return joined(*hints)


def private_address_hint(*, of_link: bool, allowed: bool = False) -> str:
    """Why a private address was refused, and which setting has a say in it.

    Where the key page may be private (*allowed*), or is not what was refused (*of_link*), it was
    a public page that led there.
    """
    if of_link or allowed:
        return "a public site may not lead there, whatever TPLSPIDER_ALLOW_PRIVATE says"
    return "TPLSPIDER_ALLOW_PRIVATE is false here, so no key page may be at a private address"


def missing_links_text(missing: Sequence[Sequence[int]], most: int) -> str:
    """The first of the links that are not there, each by the ranks of its two pages, in words.

    >>> missing_links_text([(3, 1), (2, 3), (3, 4)], most=2)
    'page 3 does not link to page 1, page 2 does not link to page 3 ...'
    """
    told = [f"page {source} does not link to page {target}" for source, target in missing[:most]]
    return ", ".join(told) + (" ..." if len(missing) > most else "")

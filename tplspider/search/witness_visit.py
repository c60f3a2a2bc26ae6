"""The visit of a witness: one more page, loaded for the template when the search itself is over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.search.algorithm import Visit
from tplspider.search.witness import choose_witness, needs_witness
from tplspider.web.addresses import Address, identity
from tplspider.web.page import Answer, NoPage, Page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tplspider.items import WitnessLink
    from tplspider.search.window import SubdigraphSearch
    from tplspider.web.html import Link

WITNESS = 0  # in the place of a rank, which a witness does not have


def find_witness(
    search: SubdigraphSearch,
    links: Sequence[Link],
    is_absent: Callable[[str], bool] | None = None,
) -> Visit | None:
    """The page to load when a search is over: none if an explored page is of the key page's kind.

    The budget of loads holds for the witness, too.
    """
    if search.max_loads and search.loads >= search.max_loads:
        return None
    key = search.key_page
    explored = [visit.page for visit in search.visits if visit.page]
    if not needs_witness(key, explored):
        return None
    spent = {visit.link.identity for visit in search.visits}
    spent |= {page.identity for page in (key, *explored)}
    further = {link for page in explored for link in page.links}
    # Addresses on explored pages are known by their identities; what is asked for is as written.
    written = dict(pair for page in explored for pair in page.written)
    if is_absent:
        links = [link for link in links if not is_absent(link.url)]
        further = {each for each in further if not is_absent(written.get(each, each))}
    url = choose_witness(key.identity, links, spent, further)
    if url is None:
        return None
    url = written.get(url, url)
    return Visit(WITNESS, Address(url, identity(url)), url)


def settle(visit: Visit, search: SubdigraphSearch, answer: Answer) -> None:
    """Take in what a witness gave: a page of its own, a duplicate, or none."""
    if isinstance(answer, NoPage):
        visit.no_page = answer
        return
    visit.url = answer.url
    if isinstance(answer, Page):
        visit.duplicate_of = search.duplicate_of(answer)
        visit.page = None if visit.duplicate_of else answer
    else:
        visit.duplicate_of = answer.url
    visit.is_key_page = visit.duplicate_of == search.key_page.url


def is_settled(visit: Visit) -> bool:
    """Whether it is known what a witness gave."""
    return bool(visit.page or visit.no_page or visit.duplicate_of)


def witness_link(visit: Visit) -> WitnessLink:
    """What became of a witness, as users read it."""
    return {
        "link": visit.link.url,
        "url": visit.url,
        "outcome": visit.outcome,
        "reason": visit.reason,
    }

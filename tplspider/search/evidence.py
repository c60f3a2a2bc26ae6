"""Which pages of a search are evidence of its key page's template, and in what order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.search.companions import MOST, by_likeness

if TYPE_CHECKING:
    from tplspider.search.algorithm import Visit
    from tplspider.search.window import SubdigraphSearch
    from tplspider.web.page import Page

KEY, MEMBER, EXPLORED, WITNESS_ROLE = "key", "member", "explored", "witness"
SPARE = 3  # pages beyond those that are enough: some may tell nothing


@dataclass(frozen=True, slots=True)
class WantedPage:
    """A page of a search: its role there, and the link that led to it ('' for the key page)."""

    page: Page
    role: str
    link: str = ""


def members(search: SubdigraphSearch | None, witness: Visit | None) -> list[WantedPage]:
    """The key page, the members by rank, and the witness, if there is one."""
    if search is None:
        return []
    found = [WantedPage(search.key_page, KEY)]
    found += [WantedPage(v.page, MEMBER, v.link.url) for v in search.members if v.page]
    if witness and witness.page:
        found.append(WantedPage(witness.page, WITNESS_ROLE, witness.link.url))
    return found


def evidence(search: SubdigraphSearch | None, witness: Visit | None) -> list[WantedPage]:
    """The key page, and the pages to compare it with, those that tell most first.

    The witness comes first, then explored pages, members or not: the ones most like the key page.
    There may be a hundred, and few are enough.
    """
    if search is None:
        return []
    known = {wanted.page: wanted for wanted in members(search, witness)}
    explored = {
        visit.page: known.get(visit.page) or WantedPage(visit.page, EXPLORED, visit.link.url)
        for visit in search.visits
        if visit.page
    }
    found = [wanted for wanted in known.values() if wanted.role in (KEY, WITNESS_ROLE)]
    best = by_likeness(search.key_page, explored)[: MOST + SPARE]
    return [*found, *(explored[page] for page in best)]

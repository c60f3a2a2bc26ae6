"""A guided order: what the key page says of its links, and what each loaded page says of the rest.

A link's score is the sum of the signs on the key page (they decide the first load), its kinship
with the key page by address (pages near to it share more of its template), and the evidence of the
pages loaded so far: a link that they all have can be mutually linked with them, one that they do
not have cannot. sortLinks breaks the ties. Scores are taken anew for every link.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tplspider.hyperlink_distance import HyperlinkDistances, link_relevance
from tplspider.menu_signs import menu_signs
from tplspider.sort_links import sort_links

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tplspider.links import Link
    from tplspider.menu_signs import MenuSigns
    from tplspider.search import SubdigraphSearch, Visit

EVIDENCE = 8.0  # for a link that every loaded page has; so it outweighs all the rest
ENTRIES = 1.0  # for a link in a block of MANY_ENTRIES or more
MANY_ENTRIES = 8
OWN_ENTRY = 0.5
PLACES = 0.5  # for a link that stands on the page three times or more
MENU_PLACE, TEXT_PLACE = 0.25, -0.25
SEQUENCE = -1.0
RELEVANCE = 1.0  # for the links of the best relevance; half of it for the next, then a third ...
SAME_DEPTH = 0.5  # as many directories as the key page has: the same kind of page, more often
QUERY = -3.0  # mostly the same page once more, unless the key page's own address has a query
PATIENCE = 8  # times n: the links after which sortLinks has a say


def order(links: Sequence[Link], search: SubdigraphSearch) -> Iterator[Link]:
    """The links by score, which is taken anew whenever a link is asked for.

    A search that goes on for long is one whose signs mislead: from then on, every other link is the
    next of sortLinks.
    """
    links = sort_links(links, search.key_page.identity)
    prior = _prior(links, search)
    left = dict.fromkeys(range(len(links)))
    loaded = _Loaded(links)
    taken = 0
    while left:
        loaded.read(search.visits)
        if taken >= PATIENCE * search.size and taken % 2:
            best = next(iter(left))
        else:
            evidence, whole = loaded.evidence, max(len(loaded.pages), 1) ** 2
            best = max(left, key=lambda i: EVIDENCE * evidence[i] / whole + prior[i])
        del left[best]
        taken += 1
        yield links[best]


class _Loaded:
    """The pages loaded so far: which of the links they have, and how well linked they are."""

    def __init__(self, links: Sequence[Link]) -> None:
        self._number = {link.identity: i for i, link in enumerate(links)}
        self._read = 0
        self._found: list[list[int]] = []  # the links that each page has
        self._linked_by: list[int] = []  # how many of the others link to each, and the key page
        self.pages: list[Visit] = []
        # Of each link, the pages that have it. A page counts for as much as it is linked by the
        # others: one that nobody links to can be in no complete subdigraph.
        self.evidence = [0] * len(links)

    def read(self, visits: Sequence[Visit]) -> None:
        """Take in the visits since the last time."""
        for visit in visits[self._read :]:
            if visit.page is None:
                continue
            linked_by = 1
            for i, other in enumerate(self.pages):
                assert other.page
                linked_by += not _names(visit).isdisjoint(other.page.links)
                if not _names(other).isdisjoint(visit.page.links):
                    self._linked_by[i] += 1
                    for link in self._found[i]:
                        self.evidence[link] += 1
            numbers = (self._number.get(identity) for identity in visit.page.links)
            found = [i for i in numbers if i is not None]
            for link in found:
                self.evidence[link] += linked_by
            self.pages.append(visit)
            self._found.append(found)
            self._linked_by.append(linked_by)
        self._read = len(visits)


def _names(visit: Visit) -> frozenset[str]:
    assert visit.page
    return frozenset({visit.link.identity, visit.page.identity})


def _prior(links: Sequence[Link], search: SubdigraphSearch) -> list[float]:
    """The score of each link before anything is loaded."""
    key = search.key_page
    distances = HyperlinkDistances(key.identity)
    of_link = [distances.to(link.identity) for link in links]
    groups = {d: i for i, d in enumerate(sorted(set(of_link), key=link_relevance), 1)}
    depth = _depth(key.identity)
    return [
        _menu_score(signs)
        + RELEVANCE / groups[distance]
        + SAME_DEPTH * (_depth(link.identity) == depth)
        + QUERY * ("?" in link.identity and "?" not in key.identity)
        for link, signs, distance in zip(links, menu_signs(links, key.url), of_link, strict=True)
    ]


def _menu_score(signs: MenuSigns) -> float:
    return (
        ENTRIES * min(signs.entries, MANY_ENTRIES) / MANY_ENTRIES
        + OWN_ENTRY * signs.own_entry
        + PLACES * (min(signs.places, 3) - 1) / 2
        + MENU_PLACE * signs.menu_place
        + TEXT_PLACE * signs.text_place
        + SEQUENCE * signs.sequence
    )


def _depth(identity: str) -> tuple[int, bool]:
    """How many directories an address has, and whether it is one."""
    path = urlsplit(identity).path
    return path.count("/"), path.endswith("/")

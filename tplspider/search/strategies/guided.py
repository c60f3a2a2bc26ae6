"""A guided order: what the key page says of its links, and what each loaded page says of the rest.

A link's score is the sum of the signs on the key page (they decide the first load), its kinship
with the key page by address (pages near to it share more of its template), and the evidence of the
pages loaded so far: a link that they all have can be mutually linked with them, one that they do
not have cannot. sortLinks breaks the ties. Scores are as they are when a link is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.search.guidance.link_blocks import Body, read_body
from tplspider.search.guidance.links_left import LinksLeft
from tplspider.search.guidance.loaded_pages import LoadedPages
from tplspider.search.guidance.menu_signs import MenuSigns, menu_signs
from tplspider.search.sort_links import sorted_groups

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tplspider.search.window import SubdigraphSearch
    from tplspider.web.html import Link
    from tplspider.web.page import Page

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


def guided_order(links: Sequence[Link], search: SubdigraphSearch) -> Iterator[Link]:
    """The links by score, as it is whenever a link is asked for.

    A search that goes on for long is one whose signs mislead: from then on, every other link is the
    next of sortLinks.
    """
    if not links:
        return
    # First of all: what lxml makes for each element of a tree is made once then.
    body = read_body(links[0].element, links)
    groups = sorted_groups(links, search.key_page.identity)
    left = LinksLeft(_prior(links, groups, search.key_page, body))
    body.close()
    links = [links[i] for group in groups for i in group]
    loaded = LoadedPages(links)
    for taken in range(len(links)):
        left.add_evidence(loaded.read(search.visits))
        if taken >= PATIENCE * search.size and taken % 2:
            best = left.take_first()
        else:
            best = left.take_best(EVIDENCE, max(len(loaded.pages), 1) ** 2)
        yield links[best]


def _prior(
    links: Sequence[Link], groups: Sequence[Sequence[int]], key: Page, body: Body
) -> list[float]:
    """The score of each link before anything is loaded, in the order of *groups*."""
    signs = menu_signs(links, key.url, body, [i for group in groups for i in group])
    score = {number: _menu_score(of_link) for number, of_link in {id(s): s for s in signs}.items()}
    scores = [score[number] for number in map(id, signs)]
    kin = _kinship([link.identity for link in links], key.identity)
    prior = []
    for place, group in enumerate(groups, 1):
        relevance = RELEVANCE / place
        prior += [scores[i] + relevance + kin[i][0] + kin[i][1] for i in group]
    return prior


def _kinship(identities: list[str], key: str) -> list[tuple[float, float]]:
    """What the depth of each address adds to its score, and what its query does."""
    depth, is_directory = _depth(key)
    query = QUERY * ("?" not in key)
    near, far, of_query = (SAME_DEPTH, 0.0), (0.0, 0.0), ((0.0, query), (SAME_DEPTH, query))
    return [
        of_query[_depth(identity) == (depth, is_directory)]
        if "?" in identity
        else near
        if identity.count("/") == depth and identity.endswith("/") == is_directory
        else far
        for identity in identities
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
    address = identity.partition("?")[0]
    return address.count("/"), address.endswith("/")

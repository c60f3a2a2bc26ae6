"""sortLinks (Algorithm 1): link relevance first, DOM relevance among equals."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tplspider.search.dom_distance import farthest_first
from tplspider.search.hyperlink_distance import HyperlinkDistances, link_relevance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.web.html import Link


def sort_links(links: Sequence[Link], reference: str) -> list[Link]:
    """The links of the key page, given in document order, in the order they should be explored.

    *reference* is the identity of the key page.
    """
    return [links[i] for group in sorted_groups(links, reference) for i in group]


def sorted_groups(links: Sequence[Link], reference: str) -> list[list[int]]:
    """The same as positions, in groups of one hyperlink distance, the most relevant first."""
    distances = HyperlinkDistances(reference)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for i, link in enumerate(links):
        groups[distances.to(link.identity)].append(i)
    in_order = []
    for distance in sorted(groups, key=link_relevance):
        group = groups[distance]
        in_order.append([group[k] for k in farthest_first([links[i].element for i in group])])
    return in_order

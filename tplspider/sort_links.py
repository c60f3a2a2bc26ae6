"""sortLinks (Algorithm 1): link relevance first, DOM relevance among equals."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tplspider.dom_distance import farthest_first
from tplspider.hyperlink_distance import HyperlinkDistances, link_relevance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.links import Link


def sort_links(links: Sequence[Link], reference: str) -> list[Link]:
    """The links of the key page, given in document order, in the order they should be explored.

    *reference* is the identity of the key page.
    """
    distances = HyperlinkDistances(reference)
    groups: defaultdict[int, list[Link]] = defaultdict(list)
    for link in links:
        groups[distances.to(link.identity)].append(link)
    order = []
    for distance in sorted(groups, key=link_relevance):
        group = groups[distance]
        order += [group[i] for i in farthest_first([link.element for link in group])]
    return order

"""Algorithm 1, sortLinks: the links by link relevance, and by DOM relevance among equals.

The hyperlink distance of addresses and the DOM distance of links are the paper's definitions of
those names; the strategy ``paper`` is this order.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain, takewhile
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tplspider.search.cliques import SubdigraphSearch
    from tplspider.web.html import Element, Link


def words(identity: str) -> tuple[str, ...]:
    """The path of an address in the paper's sense: its host, then its directories.

    The resource name, the query, the port and a leading ``www.`` play no part.

    >>> words("http://www.upv.es/research/maths/index.html")
    ('upv.es', 'research', 'maths')
    """
    parts = urlsplit(identity)
    host = (parts.hostname or "").removeprefix("www.")
    return (host, *filter(None, parts.path.split("/")[:-1]))


def h_distance(h: Sequence[str], g: Sequence[str]) -> int:
    """Hyperlink distance from *h* to *g*, each given as its words.

    >>> h_distance(["research", "maths"], ["research", "maths", "geometry"])
    1
    >>> h_distance(["research", "maths"], ["research", "physics", "dynamics"])
    -1
    """
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(h, g, strict=False)))
    return len(g) - len(h) if shared == len(h) else shared - len(h)


def link_relevance(distance: int) -> tuple[bool, int]:
    """Sort key of link relevance: distance 0 first, then 1, 2, 3 ..., then -1, -2, -3 ..."""
    return distance < 0, abs(distance)


class HyperlinkDistances:
    """Hyperlink distances from one reference address, worked out once for each directory."""

    def __init__(self, reference: str) -> None:
        self._reference = words(reference)
        self._by_directory: dict[str, int] = {}

    def to(self, identity: str) -> int:
        """The hyperlink distance from the reference to the address with this identity."""
        address = identity.partition("?")[0]
        directory = address[: address.rfind("/") + 1]
        distance = self._by_directory.get(directory)
        if distance is None:
            distance = h_distance(self._reference, words(directory))
            self._by_directory[directory] = distance
        return distance


# The order that DOM relevance makes of DOM distance (the paper's definitions of those names).
#
# The DOM distance of two elements is the number of edges between them in the tree of their page,
# the root of which is the document.


class _LinkTree:
    """The DOM reduced to some elements, given in document order, and to where their paths part.

    An element with none of the others below it is a leaf, not a node: all that is kept of a leaf
    is its anchor, the node it hangs from, and its drop, the number of edges between the two.
    """

    def __init__(self, elements: Sequence[Element]) -> None:
        self.depth = depth = [0]  # node 0 is the document
        self.parent = parent = [-1]
        self.anchor: list[int] = []
        self.drop: list[int] = []
        # Invariant: the nodes on the path to the element before, from the document down. Those
        # that are no longer on it have got their parents.
        path = [0]
        forks = _forks(elements)
        before = next(forks)[0]
        for element_depth, shared in chain(forks, [(0, 0)]):
            # The path of this element leaves that of the one before at depth *shared*.
            anchor = path[-1]
            left = -1  # the topmost node that is no longer on the path
            while depth[path[-1]] > shared:
                if left >= 0:
                    parent[left] = path[-1]
                left = path.pop()
            if depth[path[-1]] < shared:
                path.append(len(depth))
                depth.append(shared)
                parent.append(-1)
            if left >= 0:
                parent[left] = path[-1]
            else:
                anchor = path[-1]
            self.anchor.append(anchor)
            self.drop.append(before - depth[anchor])
            before = element_depth
        self.children: list[list[int]] = [[] for _ in depth]
        for node, above in enumerate(parent):
            if above >= 0:
                self.children[above].append(node)


def _forks(elements: Sequence[Element]) -> Iterator[tuple[int, int]]:
    """Of each element: its depth, and that of the last node its path shares with those before."""
    known: dict[Element | None, int] = {None: 0}  # depths; above the topmost is the document
    depth_of = known.get
    for element in elements:
        path = []
        step: Element | None = element
        while (depth := depth_of(step)) is None:
            path.append(step)
            step = step.getparent()  # type: ignore[union-attr]  # None is known
        shared = depth
        for step in reversed(path):
            depth += 1
            known[step] = depth
        yield depth, shared
    # lxml looks for a living proxy above each one it frees: from the last to the first it finds
    # one at once, from the first to the last it climbs to the document every time.
    while known:
        known.popitem()


def farthest_first(elements: Sequence[Element]) -> list[int]:
    """The inner loop of Algorithm 1: the order that DOM relevance gives to some elements.

    The first element, then again and again the one whose nearest chosen element is farthest away;
    of several the first. Elements come in document order; what is returned are their positions.

    Distances spread from each chosen element over the reduced tree and stop where they improve
    nothing, so the cost is that of the improvements: near n log n on real pages.
    """
    if not elements:
        return []
    tree = _LinkTree(elements)
    anchor, drop = tree.anchor, tree.drop
    nearest = [10**9] * len(tree.depth)  # of each node: the distance to the nearest chosen element
    _spread(tree, nearest, anchor[0], drop[0])
    order = [0]
    # Elements by their distance to the nearest chosen one when they were last looked at. Distances
    # only shrink: what is out of date when its turn comes moves to a nearer bucket, whose turn is
    # still to come, and no bucket grows during its own.
    buckets: defaultdict[int, list[int]] = defaultdict(list)
    for i in range(1, len(elements)):
        buckets[nearest[anchor[i]] + drop[i]].append(i)
    for distance in range(max(buckets, default=0), 0, -1):
        for i in sorted(buckets.pop(distance, ())):
            current = nearest[anchor[i]] + drop[i]
            if current < distance:
                buckets[current].append(i)
                continue
            order.append(i)
            if drop[i] < nearest[anchor[i]]:
                _spread(tree, nearest, anchor[i], drop[i])
    return order


def _spread(tree: _LinkTree, nearest: list[int], node: int, distance: int) -> None:
    """Lower *nearest*, now that an element *distance* edges below *node* was chosen."""
    depth, parent, children = tree.depth, tree.parent, tree.children
    nearest[node] = distance
    changed = [node]
    while changed:
        node = changed.pop()
        # The distance by way of this node is away + depth for those below it.
        away = nearest[node] - depth[node]
        above = parent[node]
        if above >= 0 and (distance := nearest[node] + depth[node] - depth[above]) < nearest[above]:
            nearest[above] = distance
            changed.append(above)
        for child in children[node]:
            if (distance := away + depth[child]) < nearest[child]:
                nearest[child] = distance
                changed.append(child)


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


def paper_order(links: Sequence[Link], search: SubdigraphSearch) -> Iterator[Link]:
    """The links by link relevance, and by DOM relevance among equals."""
    yield from sort_links(links, search.key_page.identity)

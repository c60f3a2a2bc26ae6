"""The blocks of links on a page: round each anchor, the largest element that is mostly links.

A key page may have a hundred thousand links, so there are lists of one thing each here, each made
in one go. Elements are those of a flat page, with the same numbers and the same text.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, compress
from typing import TYPE_CHECKING

from tplspider.web.html import LAYOUT, Element, Link, is_stray, kept_nodes, kept_tags, main_body

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


DENSE = 0.6  # the share of the text in links that makes a block one of links


@dataclass(slots=True)
class Body:
    """The elements of a page's body in document order; script, style and noscript left out."""

    elements: list[Element]
    tags: list[str]
    parents: list[int]  # that of the first is -1
    anchors: list[int]  # each ``a`` and ``area`` with an ``href``
    lengths: list[int]  # of the text directly in an element

    def close(self) -> None:
        """Let go of the elements: lxml is much quicker at it from the last to the first."""
        while self.elements:
            self.elements.pop()


def read_body(root: Element, links: Sequence[Link] = ()) -> Body:
    """The body of the page with this tree; its links, as far as they are known, save some time."""
    nodes = list(main_body(root).iter())
    tags = [node.tag for node in nodes]
    at: dict[Element | None, int] = dict(zip(nodes, range(len(nodes)), strict=True))
    parents = [-1, *map(at.__getitem__, [node.getparent() for node in nodes[1:]])]
    anchors = [number for number, tag in enumerate(tags) if tag in ("a", "area")]
    # Without anything between the body and its links there is no block to find.
    between = any(parents[anchor] > 0 for anchor in anchors)
    lengths = _lengths(nodes, parents) if between else [0] * len(nodes)
    if not all(kept_tags({*tags})):
        kept = kept_nodes(tags, parents)
        nodes, tags = list(compress(nodes, kept)), list(compress(tags, kept))
        lengths = list(compress(lengths, kept))
        after = list(accumulate(kept))  # the number of a kept node, plus one
        parents = [-1, *[after[parent] - 1 for parent in list(compress(parents, kept))[1:]]]
        anchors = [number for number, tag in enumerate(tags) if tag in ("a", "area")]
    if [nodes[anchor] for anchor in anchors] != [link.element for link in links]:
        anchors = [anchor for anchor in anchors if nodes[anchor].get("href") is not None]
    return Body(nodes, tags, parents, anchors, lengths)


def _lengths(nodes: list[Element], parents: list[int]) -> list[int]:
    """The length of the text directly in each element, white space folded."""
    lengths = [len(" ".join(text.split())) if (text := node.text) else 0 for node in nodes]
    tails = [node.tail for node in nodes]
    for parent, tail in zip(parents[1:], tails[1:], strict=True):
        if tail and not tail.isspace():
            lengths[parent] += len(" ".join(tail.split())) + (lengths[parent] > 0)
    return lengths


def blocks_of_anchors(body: Body, kinds: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Of each anchor, its block, and the kinds of the elements that it is in, itself among them.

    *kinds* are bits, for those elements that are of any kind. An anchor that is in no block is one.
    """
    parents, anchors = body.parents, body.anchors
    inner = sorted({*parents[1:]})  # the elements with others in them
    dense = _dense(body, inner)
    blocks = list(range(len(parents)))
    inside = bytearray(len(parents) + 1)  # the last is that of what the first is in
    for element in inner:
        parent = parents[element]
        if dense[parent]:
            blocks[element] = blocks[parent]
        inside[element] = inside[parent]
        if element in kinds:
            inside[element] |= kinds[element]
    around = [parents[anchor] for anchor in anchors]
    of_anchors = [
        blocks[parent] if dense[parent] else anchor
        for anchor, parent in zip(anchors, around, strict=True)
    ]
    places = [inside[parent] for parent in around]
    if not kinds.keys().isdisjoint(anchors):
        pairs = zip(places, anchors, strict=True)
        places = [place | kinds.get(anchor, 0) for place, anchor in pairs]
    return of_anchors, places


def _dense(body: Body, inner: list[int]) -> bytearray:
    """Of each element with others in it, whether its text is mostly in links; not of the first."""
    parents, tags = body.parents, body.tags
    dense = bytearray(len(parents) + 1)
    if len(inner) < 2:
        return dense
    ends = _ends(parents)
    lengths = body.lengths.copy()
    before = [0, *accumulate(lengths)]
    for element in [0, *[number for number in inner[1:] if tags[number] in LAYOUT]]:
        end = ends[element]
        whole = before[end] - before[element]
        if is_stray(element, tags[element], end - element, lengths[element], whole):
            lengths[element] = 0
    before = [0, *accumulate(lengths)]
    before_in_links = [0, *accumulate(_in_links(body, ends, lengths))]
    for start in inner[1:]:
        end = ends[start]
        in_links = before_in_links[end] - before_in_links[start]
        dense[start] = in_links >= DENSE * (before[end] - before[start])
    return dense


def _in_links(body: Body, ends: list[int], lengths: list[int]) -> list[int]:
    """The lengths of the texts in links, 0 of all others."""
    linked = [0] * len(lengths)
    for anchor in body.anchors:
        if body.tags[anchor] == "a":
            if ends[anchor] == anchor + 1:
                linked[anchor] = lengths[anchor]
            else:
                linked[anchor : ends[anchor]] = lengths[anchor : ends[anchor]]
    return linked


def _ends(parents: list[int]) -> list[int]:
    """Of each element, the number after the last that is in it."""
    ends = list(range(1, len(parents) + 1))
    for element in range(len(parents) - 1, 0, -1):
        parent = parents[element]
        if ends[element] > ends[parent]:  # noqa: PLR1730 - a call would take longer
            ends[parent] = ends[element]
    return ends

"""The texts of the nodes of a page, each read and folded once: a page may have very many."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import compress, count
from operator import not_
from sys import intern
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tplspider.web.html import Element


UNCOUNTED = frozenset({"script", "style", "noscript"})
LAYOUT = frozenset(
    "article aside blockquote center div fieldset font footer form header main nav section table"
    " td".split()
)
LARGE, _FEW = 20, 0.2  # elements, and the share of the text in them


@dataclass(slots=True)
class NodeTexts:
    """The nodes of a body in document order, comments among them, as parallel lists.

    *texts* are what stands before the first child of a node and *tails* what stands after the
    node, folded; *written_texts* and *written_tails* are the same as written.
    """

    tags: list[Any] = field(default_factory=list)  # of a comment it is not a string
    parents: list[int] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    tails: list[str] = field(default_factory=list)
    written_texts: list[str] = field(default_factory=list)
    written_tails: list[str] = field(default_factory=list)

    def words(self) -> list[str]:
        """The text directly inside each node: before its first child, and after each."""
        words = self.texts[:]
        after: dict[int, list[str]] = {}
        for place, tail in enumerate(self.tails):
            if tail and place:
                parent = self.parents[place]
                after.setdefault(parent, [words[parent]] if words[parent] else []).append(tail)
        for parent, texts in after.items():
            words[parent] = " ".join(texts)
        return words


def read_nodes(nodes: list[Element]) -> NodeTexts:
    """The texts of these nodes: one and all that is in it."""
    # Lists of one thing each, each made in one go: there may be tens of thousands of nodes.
    at: dict[Element | None, int] = dict(zip(nodes, range(len(nodes)), strict=True))
    parents = [-1, *[at[node.getparent()] for node in nodes[1:]]]
    # One string for each tag: they are looked up again and again, and kept.
    tags = [intern(tag) if isinstance(tag := node.tag, str) else tag for node in nodes]
    texts = [node.text or "" for node in nodes]
    tails = [node.tail or "" for node in nodes]
    return NodeTexts(tags, parents, folded(texts), folded(tails), texts, tails)


def folded(texts: list[str]) -> list[str]:
    """These texts with every run of white space folded into one space."""
    # As fold does, but there may be tens of thousands.
    return [
        ""
        if not text or text.isspace()
        else bare
        if (bare := text.strip()).isprintable() and "  " not in bare
        else " ".join(bare.split())
        for text in texts
    ]


def kept_tags(tags: Iterable[Any]) -> list[bool]:
    """Which tags are those of elements that count."""
    return [_counts(tag) for tag in tags]


def _counts(tag: Any) -> bool:
    return isinstance(tag, str) and tag not in UNCOUNTED


def kept_nodes(tags: list[Any], above: list[int]) -> list[bool]:
    """Which nodes are elements, and not in one that does not count."""
    all_tags = {*tags}
    counted = {tag for tag in all_tags if _counts(tag)}
    if counted == all_tags:
        return [True] * len(tags)
    kept = list(map(counted.__contains__, tags))
    left = list(compress(count(), map(not_, kept)))
    if any(place + 1 < len(above) and above[place + 1] == place for place in left):
        for place, parent in enumerate(above[1:], 1):
            if not kept[parent]:
                kept[place] = False
    return kept


def is_stray(element: int, tag: str, size: int, length: int, whole: int) -> bool:
    """Whether the text directly in an element is stray, given its length and that of all in it.

    *element* is its number, *size* the number of elements it is made of.
    """
    return not element or (tag in LAYOUT and size >= LARGE and length <= _FEW * whole)

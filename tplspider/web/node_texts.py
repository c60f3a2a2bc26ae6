"""The texts of the nodes of a page, each read and folded once: a page may have very many."""

from __future__ import annotations

from dataclasses import dataclass, field
from sys import intern
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tplspider.web.html import Element


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

"""A page as flat lists, made for comparing pages: elements in document order, by number.

The elements of a subtree have consecutive numbers. What makes two elements or two subtrees the same
is numbered too, in a vocabulary that the pages share, so that comparing is comparing integers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit

from tplspider.addresses import Resolver, identity
from tplspider.tree import find_all, fold

if TYPE_CHECKING:
    from tplspider.tree import Element

UNCOUNTED = frozenset({"script", "style", "noscript"})

_ADDRESS = {"a": "href", "area": "href", "img": "src", "iframe": "src"}
_ENDING = re.compile(r"(?:/index)?\.\w+$|/$")


@dataclass(slots=True)
class Vocabulary:
    """Numbers for what elements and subtrees are, the same number for the same thing."""

    own: dict[str | tuple[str, str, str], int] = field(default_factory=dict)
    subtrees: dict[tuple[int, ...], int] = field(default_factory=dict)


@dataclass(slots=True)
class FlatPage:
    """The elements of a page's body in document order; script, style and noscript left out."""

    elements: list[Element]
    parents: list[int]
    tags: list[str]
    texts: list[str]  # directly in the element, folded
    links: list[str]  # where it leads, this page itself being "self"
    targets: list[str]  # where it leads, by its address
    ends: list[int] = field(default_factory=list)  # the number after the last of the subtree
    own: list[int] = field(default_factory=list)
    subtrees: list[int] = field(default_factory=list)

    def children(self, element: int) -> list[int]:
        """The numbers of the elements directly inside an element."""
        children, child, end = [], element + 1, self.ends[element]
        ends = self.ends
        while child < end:
            children.append(child)
            child = ends[child]
        return children


def flatten(root: Element, url: str, vocabulary: Vocabulary, encoding: str = "utf-8") -> FlatPage:
    """The page with this tree, loaded from *url*."""
    # Lists of one thing each, each made at one go: there may be ten thousands of elements.
    nodes = list(next(find_all(root, "body"), root).iter())
    tags = [node.tag for node in nodes]
    at: dict[Element | None, int] = dict(zip(nodes, range(len(nodes)), strict=True))
    above = [-1, *(at[node.getparent()] for node in nodes[1:])]
    words = _words(nodes, above)
    left_out = _left_out(tags, above)
    if left_out:
        kept = [place for place, out in enumerate(left_out) if not out]
        number = dict(zip(kept, range(len(kept)), strict=True)) | {-1: -1}
        nodes = [nodes[place] for place in kept]
        tags = [tags[place] for place in kept]
        words = [words[place] for place in kept]
        above = [number[above[place]] for place in kept]
    words[0] = ""  # stray text in the body says nothing about the body
    page = FlatPage(nodes, above, tags, words, [""] * len(nodes), [""] * len(nodes))
    _read_links(page, url, encoding)
    _number(page, vocabulary)
    return page


def _words(nodes: list[Element], above: list[int]) -> list[str]:
    """The text directly inside each node: before its first child, and after each."""
    words = [fold(text) if (text := node.text) else "" for node in nodes]
    for place, node in enumerate(nodes):
        tail = node.tail
        if tail and place and not tail.isspace():
            parent = above[place]
            words[parent] = f"{words[parent]} {fold(tail)}" if words[parent] else fold(tail)
    return words


def _left_out(tags: list[Any], above: list[int]) -> list[bool]:
    """Which nodes are no elements, or in one that does not count; [] if all are and do."""
    left_out = [tag in UNCOUNTED or not isinstance(tag, str) for tag in tags]
    if not any(left_out):
        return []
    for place in range(1, len(tags)):
        if left_out[above[place]]:
            left_out[place] = True
    return left_out


def _read_links(page: FlatPage, url: str, encoding: str) -> None:
    """Where the links, images and frames of a page lead.

    An address that stands for the page itself, or has the page's own path in it (to edit it, to
    share it, to see it in another language), is the same thing on every page.
    """
    resolver = Resolver(url, encoding)
    for base in find_all(page.elements[0], "base"):
        if base.get("href"):
            resolver = resolver.moved_to(base.get("href") or "")
            break
    own = identity(url).partition("?")[0]
    path = _ENDING.sub("", urlsplit(url).path).strip("/")
    names = sorted({path, quote(path, safe=""), unquote(path)}, key=len, reverse=True)
    names = [name for name in names if len(name) > 3]
    known: dict[str, tuple[str, str]] = {}
    for number, tag in enumerate(page.tags):
        attribute = _ADDRESS.get(tag)
        if attribute is None:
            continue
        raw = page.elements[number].get(attribute)
        if raw is None:
            continue
        found = known.get(raw)
        if found is None:
            address, _, fragment = raw.strip().partition("#")
            try:
                target = (resolver.resolve(address) or (raw, raw))[1]
            except ValueError:
                target = raw
            base_address, _, query = target.partition("?")
            if not address or base_address == own:
                link, target = f"self?{query}#{fragment}", target if query else own
                if not address:
                    target = own
                    link = f"self?#{fragment}"
            else:
                link = target
                for name in names:
                    link = link.replace(name, "*")
            found = known[raw] = (link, target)
        page.links[number], page.targets[number] = found


def _number(page: FlatPage, vocabulary: Vocabulary) -> None:
    """Give elements and subtrees their numbers in the vocabulary, last to first."""
    own, subtrees = vocabulary.own, vocabulary.subtrees
    page.own = numbers = [
        own.setdefault((tag, text, link) if text or link else tag, len(own))
        for tag, text, link in zip(page.tags, page.texts, page.links, strict=True)
    ]
    parents = page.parents
    count = len(parents)
    page.ends = ends = list(range(1, count + 1))
    page.subtrees = trees = [2 * number for number in numbers]  # as long as it has no children
    inside: dict[int, list[int]] = {}
    for element in range(count - 1, -1, -1):
        children = inside.pop(element, None)
        if children is not None:
            children.append(numbers[element])
            what = tuple(children)
            trees[element] = 2 * subtrees.setdefault(what, len(subtrees)) + 1
        parent = parents[element]
        siblings = inside.get(parent)
        if siblings is None:
            inside[parent] = [trees[element]]
            if parent >= 0:
                ends[parent] = ends[element]  # it is the last child
        else:
            siblings.append(trees[element])

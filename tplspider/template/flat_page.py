"""A page as flat lists, made for comparing pages: elements in document order, by number.

The elements of a subtree have consecutive numbers. What makes two elements or two subtrees the same
is numbered too, in a vocabulary that the pages share, so that comparing is comparing integers.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate, compress, islice, repeat
from typing import TYPE_CHECKING, Any

from tplspider.web.html import (
    LARGE,
    Element,
    NodeTexts,
    Targets,
    is_stray,
    kept_nodes,
    main_body,
    read_nodes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


Name = tuple[str | None, str | None]  # id and class of an element
Content = str | tuple[str, str, str]  # its tag; with its text and its link, if it has any

_ADDRESS = {"a": "href", "area": "href", "frame": "src", "iframe": "src", "img": "src"}
# Judged whole, by all the text in them: a token that two programs share is not template.
_WHOLE = frozenset("code math pre textarea".split())
_ATTRIBUTE = Element.get
_NONE: list[int] = []  # the children of all that have none


@dataclass(slots=True)
class Vocabulary:
    """Numbers for what elements and subtrees are, the same number for the same thing."""

    own: dict[Content, int] = field(default_factory=dict)
    subtrees: dict[tuple[int, ...], int] = field(default_factory=dict)

    @property
    def size(self) -> tuple[int, ...]:
        """How many there are of each."""
        return len(self.own), len(self.subtrees)

    def shrink(self, size: tuple[int, ...]) -> None:
        """Forget what has come since there were so many: it is what came last."""
        parts: tuple[dict[Any, Any], ...] = self.own, self.subtrees
        for part, length in zip(parts, size, strict=True):
            for _ in range(len(part) - length):
                part.popitem()


@dataclass(slots=True)
class FlatPage:
    """The elements of a page's body in document order; script, style and noscript left out."""

    elements: list[Element]  # none without a tree, see without_tree
    parents: list[int]
    tags: list[str]
    texts: list[str]  # directly in the element, folded
    links: list[str]  # where it leads, this page itself being "self"
    targets: list[str]  # where it leads, by its address
    written: NodeTexts  # of all nodes, those left out among them
    numbers: Sequence[int]  # of those nodes, -1 if left out
    places: Sequence[int]  # of the elements among those nodes
    url: str = ""  # of the page, as in targets
    children: list[list[int]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)  # the number after the last of the subtree
    loose: dict[int, str] = field(default_factory=dict)  # stray texts, which are in no other list
    own: list[int] = field(default_factory=list)
    subtrees: list[int] = field(default_factory=list)
    names: list[Name] = field(default_factory=list)

    def without_tree(self) -> FlatPage:
        """The page for being compared with: a tree takes more memory than all the rest."""
        return replace(self, elements=[], written=NodeTexts(), numbers=(), places=())


def flatten(root: Element, url: str, vocabulary: Vocabulary) -> FlatPage:
    """The page with this tree, loaded from *url*."""
    nodes = list(main_body(root).iter())
    written = read_nodes(nodes)
    tags, above, words = written.tags, written.parents, written.words()
    kept = kept_nodes(tags, above)
    numbers: Sequence[int] = range(len(nodes))
    places: Sequence[int] = numbers
    if not all(kept):
        places = list(compress(places, kept))
        numbers = [n - 1 if yes else -1 for n, yes in zip(accumulate(kept), kept, strict=True)]
        nodes = list(compress(nodes, kept))
        tags = list(compress(tags, kept))
        words = list(compress(words, kept))
        above = [-1, *map(numbers.__getitem__, islice(compress(above, kept), 1, None))]
    links, targets = [""] * len(nodes), [""] * len(nodes)
    page = FlatPage(nodes, above, tags, words, links, targets, written, numbers, places)
    ids, classes = (map(_ATTRIBUTE, nodes, repeat(name)) for name in ("id", "class"))
    page.names = list(zip(ids, classes, strict=True))
    _read_links(page, url)
    _nest(page)
    _set_stray_text_apart(page)
    number(page, vocabulary)
    return page


def _read_links(page: FlatPage, url: str) -> None:
    """Find out where the links, images and frames of a page lead."""
    targets = Targets(page.elements[0], url)
    page.url = targets.own
    known: dict[str, tuple[str, str]] = {}
    elements, links, page_targets = page.elements, page.links, page.targets
    for number, attribute in enumerate(map(_ADDRESS.get, page.tags)):
        if attribute is None or (raw := elements[number].get(attribute)) is None:
            continue
        found = known.get(raw)
        if found is None:
            found = known[raw] = targets.read(raw)
        links[number], page_targets[number] = found


def _nest(page: FlatPage) -> None:
    """Find the children of each element, and where its subtree ends."""
    parents = page.parents
    page.children = children = [_NONE] * len(parents)
    for element in range(1, len(parents)):
        siblings = children[parents[element]]
        if siblings:
            siblings.append(element)
        else:
            children[parents[element]] = [element]
    page.ends = ends = list(range(1, len(parents) + 1))
    for element in range(len(parents) - 1, -1, -1):
        if children[element]:
            ends[element] = ends[children[element][-1]]


def _set_stray_text_apart(page: FlatPage) -> None:
    """Set the words apart that stand loose in the body, or few of them in a large part of it.

    A date or a bar between tables must not make the part another one, with all that is in it.
    """
    large = [n for n, end in enumerate(page.ends) if end - n >= LARGE and page.texts[n]]
    if not large and not page.texts[0]:
        return
    before = [0, *accumulate(map(len, page.texts))]
    for element in {0, *large}:
        text, end = page.texts[element], page.ends[element]
        whole = before[end] - before[element]
        if text and is_stray(element, page.tags[element], end - element, len(text), whole):
            page.loose[element] = text
            page.texts[element] = ""


def contents(page: FlatPage) -> list[Content]:
    """What each element is by itself: what two of them must share to be the same."""
    texts = page.texts
    if not _WHOLE.isdisjoint(page.tags):
        texts = texts[:]
        for element in [number for number, tag in enumerate(page.tags) if tag in _WHOLE]:
            texts[element] = " ".join(filter(None, page.texts[element : page.ends[element]]))
    return [
        (tag, text, link) if text or link else tag
        for tag, text, link in zip(page.tags, texts, page.links, strict=True)
    ]


def number(page: FlatPage, vocabulary: Vocabulary) -> None:
    """Give elements and subtrees their numbers in the vocabulary, last to first."""
    own, subtrees = vocabulary.own, vocabulary.subtrees
    page.own = numbers = [own.setdefault(content, len(own)) for content in contents(page)]
    page.subtrees = trees = [2 * number for number in numbers]  # as long as it has no children
    parents = [element for element, inside in enumerate(page.children) if inside]
    for element in reversed(parents):
        inside = page.children[element]
        if len(inside) == 1:  # as half of them have
            what: tuple[int, ...] = (numbers[element], trees[inside[0]])
        else:
            what = (numbers[element], *[trees[child] for child in inside])
        trees[element] = 2 * subtrees.setdefault(what, len(subtrees)) + 1

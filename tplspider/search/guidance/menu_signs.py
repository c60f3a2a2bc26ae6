"""What the key page alone tells about each of its links: how much it looks like a menu's entry.

The paper names the way: a menu is where the density of links is high. Other signs are that the
menu holds the key page's own entry, that a link stands on the page more than once, and what
classes and tags say of the place. Links to the page before and the page after are not a menu.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import islice, repeat
from typing import TYPE_CHECKING

from tplspider.search.guidance.link_blocks import Body, blocks_of_anchors, read_body
from tplspider.search.guidance.link_places import LinkPlaces
from tplspider.web.html import Element, Link, Targets

if TYPE_CHECKING:
    from collections.abc import Container, Sequence


_MENU_TAGS = frozenset({"nav", "header"})
_TEXT_TAGS = frozenset({"article", "footer", "main", "p"})
_MENU_NAMES = re.compile(r"nav|menu|sidebar|toc|toolbar|header|breadcrumb|tab", re.IGNORECASE)
_TEXT_NAMES = re.compile(
    r"content|article|post-body|entry|comment|related|tag|foot|pagination|pager|prev|next",
    re.IGNORECASE,
)
_SEQUENCE_NAMES = re.compile(r"prev|next|pager|pagination|older|newer", re.IGNORECASE)

_MENU, _TEXT, _SEQUENCE = 1, 2, 4  # kinds of elements, as bits
_NAMES = {  # attributes, and what they tell of
    "class": _MENU | _TEXT | _SEQUENCE,
    "id": _MENU | _TEXT | _SEQUENCE,
    "role": _MENU | _TEXT,
    "rel": _SEQUENCE,
}
_KINDS_OF_TAGS = {**dict.fromkeys(_MENU_TAGS, _MENU), **dict.fromkeys(_TEXT_TAGS, _TEXT)}


@dataclass(frozen=True, slots=True)
class MenuSigns:
    """The signs of the best place that a link has on the key page."""

    entries: int = 0  # links to pages of the site in its block
    own_entry: bool = False  # whether the key page itself, or a place on it, is linked there
    places: int = 1  # how often it stands on the page
    menu_place: bool = False  # in a nav, in a sidebar ...
    text_place: bool = False  # in an article, in a footer ...
    sequence: bool = False  # the page before or after


def menu_signs(
    links: Sequence[Link], key_url: str, body: Body | None = None, in_order: Sequence[int] = ()
) -> list[MenuSigns]:
    """The signs of each link of the key page. Links with the same signs may share an object.

    *body* is that of the key page, where it was read already; *in_order* are the positions of the
    links by their ranks, where they are given in another order.
    """
    if not links:
        return []
    body = body or read_body(links[0].element, links)
    named = _named(body)
    blocks, kinds = blocks_of_anchors(body, _kinds(body, named))
    anchors = [body.elements[anchor] for anchor in body.anchors]
    targets = Targets(links[0].element, key_url)
    places = LinkPlaces(links, anchors, targets, in_order or range(len(links)))
    signs = _best_places(places, blocks, kinds)
    outside = [links[i] for i, anchor in enumerate(places.elements) if anchor < 0]
    marked = _marked(body, named, outside)
    if marked:
        for i, link in enumerate(links):
            if _in_sequence(link, marked):
                signs[i] = replace(signs[i], sequence=True)
    return signs


class _SharedSigns(dict[tuple[int, bool, int, int], MenuSigns]):
    """One object for each combination of entries, own entry, kinds of the place, and places."""

    def __missing__(self, key: tuple[int, bool, int, int]) -> MenuSigns:
        entries, own_entry, kinds, places = key
        menu, text = bool(kinds & _MENU), bool(kinds & _TEXT)
        signs = self[key] = MenuSigns(entries, own_entry, places, menu, text)
        return signs


def _best_places(places: LinkPlaces, blocks: list[int], kinds: list[int]) -> list[MenuSigns]:
    """Of each link, the signs of the place that looks most like a menu's."""
    pairs = zip(blocks, places.links, strict=True)
    distinct = set(pairs) if places.moved else pairs
    entries = Counter([block for block, link in distinct if link >= 0])
    own = [False] * len(blocks)
    if places.own:
        own_blocks = {blocks[anchor] for anchor in places.own}
        own = [block in own_blocks for block in blocks]
    shared = _SharedSigns()
    keys = zip([entries[block] for block in blocks], own, kinds, repeat(1))
    found = [shared[key] for key in keys]
    found.append(MenuSigns())  # of a link that has no place
    best = [found[anchor] for anchor in places.elements]
    anchors_of: dict[int, list[int]] = {link: [] for link in places.moved}
    for anchor, link in enumerate(places.links) if anchors_of else ():
        if link in anchors_of:
            anchors_of[link].append(anchor)
    for link, anchors in anchors_of.items():
        signs = max([found[anchor] for anchor in anchors], key=_likely, default=found[-1])
        best[link] = replace(signs, places=max(len(anchors), 1))
    return best


def _likely(signs: MenuSigns) -> tuple[bool, bool, int, int]:
    """How likely a place is that of a menu, for comparison."""
    return (
        signs.entries >= 3,
        signs.own_entry,
        signs.menu_place - signs.text_place,
        signs.entries,
    )


def _named(body: Body) -> dict[int, int]:
    """The kinds of the elements of the body whose class, id, role or rel tells what they are."""
    attributes = [len(element.attrib) for element in body.elements]
    for anchor in body.anchors:
        attributes[anchor] -= 1  # the href
    numbers = [number for number, count in enumerate(attributes) if count]
    found: dict[int, int] = {}
    for attribute, told in _NAMES.items():
        values = [body.elements[number].get(attribute) for number in numbers]
        kinds = {value: _kinds_by_name(value) & told for value in {*values} if value}
        if any(kinds.values()):
            for number, value in zip(numbers, values, strict=True):
                if value and kinds[value]:
                    found[number] = found.get(number, 0) | kinds[value]
        if attribute == "class":  # mostly the only one
            pairs = zip(numbers, values, strict=True)
            numbers = [number for number, value in pairs if not value or attributes[number] > 1]
    return found


def _kinds_by_name(name: str) -> int:
    return (
        (_MENU if _MENU_NAMES.search(name) else 0)
        | (_TEXT if _TEXT_NAMES.search(name) else 0)
        | (_SEQUENCE if _SEQUENCE_NAMES.search(name) else 0)
    )


def _kinds(body: Body, named: dict[int, int]) -> dict[int, int]:
    """The kinds of the elements of the body that have any, by their tags and by their names."""
    tags = enumerate(body.tags)
    kinds = {number: _KINDS_OF_TAGS[tag] for number, tag in tags if tag in _KINDS_OF_TAGS}
    for number, of_name in named.items():
        kinds[number] = kinds.get(number, 0) | of_name
    return kinds


def _marked(body: Body, named: dict[int, int], outside: list[Link]) -> set[Element | None]:
    """The elements that are marked as those of the page before or after."""
    marked: set[Element | None] = {
        body.elements[number] for number, kinds in named.items() if kinds & _SEQUENCE
    }
    others = {*body.elements[0].iterancestors()}
    for link in outside:
        others |= {link.element, *islice(link.element.iterancestors(), 2)}
    for element in others:
        names = (element.get(attribute) or "" for attribute in ("class", "id", "rel"))
        if any(map(_SEQUENCE_NAMES.search, names)):
            marked.add(element)
    return marked


def _in_sequence(link: Link, marked: Container[Element | None]) -> bool:
    """Whether a link, or one of the two elements above it, is marked as that of a neighbour."""
    parent = link.element.getparent()
    return (
        link.element in marked
        or parent in marked
        or (parent is not None and parent.getparent() in marked)
    )

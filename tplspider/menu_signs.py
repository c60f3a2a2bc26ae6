"""What the key page alone tells about each of its links: how much it looks like a menu's entry.

The paper names the way: a menu is where the density of links is high. Other signs are that the
menu holds the key page's own entry, that a link stands on the page more than once, and what
classes and tags say of the place. Links to the page before and the page after are no menu.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.element_text import ElementTexts
from tplspider.flat_page import Vocabulary, flatten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.flat_page import FlatPage
    from tplspider.links import Link
    from tplspider.tree import Element

DENSE = 0.6  # the share of the text in links that makes a block one of links
_MENU_TAGS = frozenset({"nav", "header"})
_TEXT_TAGS = frozenset({"article", "footer", "main", "p"})
_MENU_NAMES = re.compile(r"nav|menu|sidebar|toc|toolbar|header|breadcrumb|tab", re.IGNORECASE)
_TEXT_NAMES = re.compile(
    r"content|article|post-body|entry|comment|related|tag|foot|pagination|pager|prev|next",
    re.IGNORECASE,
)
_SEQUENCE = re.compile(r"prev|next|pager|pagination|older|newer", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MenuSigns:
    """The signs of the best place that a link has on the key page."""

    entries: int = 0  # links to pages of the site in its block
    own_entry: bool = False  # whether the key page itself, or a place on it, is linked there
    places: int = 1  # how often it stands on the page
    menu_place: bool = False  # in a nav, in a sidebar ...
    text_place: bool = False  # in an article, in a footer ...
    sequence: bool = False  # the page before or after


def menu_signs(links: Sequence[Link], key_url: str) -> list[MenuSigns]:
    """The signs of each link of the key page."""
    if not links:
        return []
    root = links[0].element.getroottree().getroot()
    page = flatten(root, key_url, Vocabulary())
    blocks = _blocks(page)
    menu_places = _inside(page, _MENU_TAGS, _MENU_NAMES)
    text_places = _inside(page, _TEXT_TAGS, _TEXT_NAMES)
    number = {element: n for n, element in enumerate(page.elements)}
    identities = {
        page.targets[number[link.element]]: link.identity
        for link in links
        if link.element in number
    }
    anchors = [n for n, tag in enumerate(page.tags) if page.links[n] and tag in ("a", "area")]
    places: dict[str, list[int]] = {}
    entries: dict[int, set[str]] = {}
    own_entry: set[int] = set()
    for anchor in anchors:
        identity = identities.get(page.targets[anchor])
        if identity is not None:
            places.setdefault(identity, []).append(anchor)
            entries.setdefault(blocks[anchor], set()).add(identity)
        elif page.links[anchor].startswith("self?"):
            own_entry.add(blocks[anchor])

    def signs(link: Link) -> MenuSigns:
        found = places.get(link.identity, [])
        candidates = [
            MenuSigns(
                len(entries[blocks[anchor]]),
                blocks[anchor] in own_entry,
                len(found),
                menu_places[anchor],
                text_places[anchor],
            )
            for anchor in found
        ]
        best = max(candidates, key=_likely, default=MenuSigns())
        return MenuSigns(
            best.entries,
            best.own_entry,
            best.places,
            best.menu_place,
            best.text_place,
            _is_sequence(link),
        )

    return [signs(link) for link in links]


def _likely(signs: MenuSigns) -> tuple[bool, bool, int, int]:
    """How likely a place is that of a menu, for comparison."""
    return (
        signs.entries >= 3,
        signs.own_entry,
        signs.menu_place - signs.text_place,
        signs.entries,
    )


def _blocks(page: FlatPage) -> list[int]:
    """Of each element, the largest one round it whose text is mostly in links, itself if none."""
    texts = ElementTexts(page)
    whole = texts.sum([len(text) for text in page.texts])
    in_link = [False] * len(whole)
    linked = [0] * len(whole)
    for element, parent in enumerate(page.parents):
        is_link = page.tags[element] == "a" and page.links[element] != ""
        in_link[element] = is_link or (parent >= 0 and in_link[parent])
        if in_link[element]:
            linked[element] = len(page.texts[element])
    linked = texts.sum(linked)
    blocks = list(range(len(whole)))
    for element in range(1, len(blocks)):
        parent = page.parents[element]
        if parent and linked[parent] >= DENSE * whole[parent]:
            blocks[element] = blocks[parent]
    return blocks


def _inside(page: FlatPage, tags: frozenset[str], names: re.Pattern[str]) -> list[bool]:
    """Of each element, whether it is in an element with such a tag, class, id or role."""
    inside = [False] * len(page.tags)
    for element, parent in enumerate(page.parents):
        inside[element] = (
            (parent >= 0 and inside[parent])
            or page.tags[element] in tags
            or _named(page.elements[element], names, ("class", "id", "role"))
        )
    return inside


def _is_sequence(link: Link) -> bool:
    around = [link.element, *list(link.element.iterancestors())[:2]]
    return any(_named(element, _SEQUENCE, ("class", "rel", "id")) for element in around)


def _named(element: Element, names: re.Pattern[str], attributes: tuple[str, ...]) -> bool:
    return any(names.search(element.get(attribute) or "") for attribute in attributes)

"""Which elements of the key page are template, by what the other pages have to say about each.

An element is judged from the top down, by the pages in which its parent has a counterpart. A page
of another kind (a landing page, a list of posts) has no counterpart for whole regions of the key
page: it says nothing about what is inside them. The more alike a page, the more it weighs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.flat_page import FlatPage

MOST = 0.85  # the share of the pages, by weight, that must have an element ...
HALF = 0.5  # ... or, if it is part of the page's frame, so many of them
SEVERAL = 0.3  # or so many, two at the least, if they have most of its text as well
NEAREST = 0.8  # how much a page must weigh to vouch for a menu alone, the nearest weighing 1
MENU_ENTRIES = 4

_LONGEST = 100  # characters: a paragraph is not worth ten menu entries
_WORDLESS_LINK = 5
_WORD = re.compile(r"[^\W\d_]{2}")
_FRAME = frozenset(
    "a article aside button div footer form header main nav ol section span ul".split()
)
# Elements that there are for the sake of the words in them.
_WORDY = frozenset(
    "b blockquote caption code dd dl dt em figure h1 h2 h3 h4 h5 h6 li ol p pre small strong table"
    " tbody td tfoot th thead tr u ul".split()
)
_TEXT_BLOCKS = _WORDY - {"b", "em", "ol", "small", "strong", "u", "ul"} | {"br", "hr", "img"}
_CONTROLS = frozenset("button img input label select svg textarea".split())


class TemplateVote:
    """The decision for every element of a key page, given its mappings to other pages."""

    def __init__(self, key: FlatPage, mappings: Sequence[Sequence[int]]) -> None:
        self.key = key
        self.mappings = mappings
        self.named = [
            element.get("class") is not None or element.get("id") is not None
            for element in key.elements
        ]
        self.words = [_WORD.search(text) is not None if text else False for text in key.texts]
        self.own_text = [
            min(len(text), _LONGEST) if text else _WORDLESS_LINK if link else 0
            for text, link in zip(key.texts, key.links, strict=True)
        ]
        self.text = self._sum(self.own_text)
        self.template = [False] * len(key.tags)
        self._accept()
        self._drop_hollow()
        self._drop_labelled_data()

    def _sum(self, values: Sequence[int]) -> list[int]:
        """Of each element, the sum over its subtree."""
        sums = list(values)
        parents = self.key.parents
        for element in range(len(sums) - 1, 0, -1):
            if sums[element]:
                sums[parents[element]] += sums[element]
        return sums

    def _accept(self) -> None:
        """Accept what enough pages have, from the top down."""
        key, template = self.key, self.template
        weights = self._weights()
        votes = [0.0] * len(template)
        voters = [0] * len(template)
        for weight, mapping in zip(weights, self.mappings, strict=True):
            for element, counterpart in enumerate(mapping):
                if counterpart >= 0:
                    votes[element] += weight
                    voters[element] += 1
        seen = [
            self._sum(
                [
                    text if counterpart >= 0 else 0
                    for text, counterpart in zip(self.own_text, mapping, strict=True)
                ]
            )
            for mapping in self.mappings
        ]
        alone = self._alone()
        for element, parent in enumerate(key.parents):
            if parent < 0:
                template[element] = True
                continue
            if not template[parent] or not votes[element]:
                continue
            whole = votes[parent]
            in_frame = (
                alone[element]
                and self.named[element]
                and key.tags[element] in _FRAME
                and not key.texts[element]
            )
            accepted = votes[element] >= (HALF if in_frame else MOST) * whole - 1e-9
            if not accepted and self.text[element]:
                accepted = self._has_text(element, whole, weights, seen)
            if (
                accepted
                and voters[element] == 1 < len(self.mappings)
                and alone[element]
                and not self.named[element]
                and key.tags[element] in _TEXT_BLOCKS
            ):
                continue  # of a single page's text: a coincidence
            template[element] = accepted

    def _weights(self) -> list[float]:
        """How much each page weighs: by what it has in common with the key page."""
        common = [sum(counterpart >= 0 for counterpart in mapping) for mapping in self.mappings]
        most = max(common)
        return [(count / most) ** 2 for count in common]

    def _alone(self) -> list[bool]:
        """Of each element, whether no sibling is of the same kind."""
        key = self.key
        kinds: dict[tuple[int, str, str | None], int] = {}
        of = []
        for element, parent, tag in zip(key.elements, key.parents, key.tags, strict=True):
            kind = (parent, tag, element.get("class"))
            of.append(kind)
            kinds[kind] = kinds.get(kind, 0) + 1
        return [kinds[kind] == 1 for kind in of]

    def _has_text(
        self, element: int, whole: float, weights: list[float], seen: list[list[int]]
    ) -> bool:
        """Whether some pages have most of its text, or the nearest all of it and it is a menu."""
        text = self.text[element]
        shares = [
            (weight, have[element] / text)
            for weight, have, mapping in zip(weights, seen, self.mappings, strict=True)
            if mapping[element] >= 0
        ]
        having = [weight for weight, share in shares if share >= 0.5]
        if len(having) >= min(2, len(weights)) and sum(having) >= SEVERAL * whole:
            return True
        near = any(weight >= NEAREST and share >= 0.9 for weight, share in shares)
        return near and self._is_menu(element)

    def _is_menu(self, element: int) -> bool:
        """Whether an element is made of links."""
        key = self.key
        entries = linked = 0
        until = 0
        for inside in range(element, key.ends[element]):
            entries += self.words[inside]
            if key.links[inside] and inside >= until:
                until = key.ends[inside]
                linked += self.text[inside]
        return entries >= MENU_ENTRIES and linked >= 0.8 * self.text[element]

    def _drop_hollow(self) -> None:
        """Drop paragraphs, lists, cells ... of which nothing but the element itself is template."""
        key, template = self.key, self.template
        solid = self._sum(
            [
                int(
                    accepted
                    and (self.words[element] or key.links[element] != "" or tag in _CONTROLS)
                )
                for element, (accepted, tag) in enumerate(zip(template, key.tags, strict=True))
            ]
        )
        kept = self._sum(
            [
                text if accepted else 0
                for text, accepted in zip(self.own_text, template, strict=True)
            ]
        )
        for element, parent in enumerate(key.parents):
            if parent < 0 or not template[element]:
                continue
            if not template[parent] or (
                not solid[element]
                and key.tags[element] in _WORDY
                and kept[element] < self.text[element]
                and (key.texts[element] or not self.named[element])
            ):
                template[element] = False

    def _drop_labelled_data(self) -> None:
        """Drop blocks of a few words and links that no other page has.

        "On this page" above a table of contents, "Related" above a list, "Next" beside a link are
        the same words everywhere, and there because of what the page has.
        """
        key, template = self.key, self.template
        count = len(template)
        links, common, label, others, linked = ([0] * count for _ in range(5))
        in_link = [False] * count
        for element, parent in enumerate(key.parents):
            is_link = key.tags[element] in ("a", "area") and key.links[element] != ""
            in_link[element] = is_link or (parent >= 0 and in_link[parent])
            if is_link:
                (common if template[element] else links)[element] = 1
            if template[element]:
                label[element] = int(self.words[element] and not in_link[element])
            else:
                (linked if in_link[element] else others)[element] = self.own_text[element]
        links, common, label, others, linked = map(
            self._sum, (links, common, label, others, linked)
        )
        labelled = [
            template[element]
            and links[element] > 0
            and not common[element]
            and label[element] > 0
            and others[element] <= 0.3 * linked[element]
            for element in range(count)
        ]
        holds_one = [False] * count
        for element in range(count - 1, 0, -1):
            if labelled[element] or holds_one[element]:
                holds_one[key.parents[element]] = True
        for element in range(1, count):
            if not template[key.parents[element]] or (labelled[element] and not holds_one[element]):
                template[element] = False

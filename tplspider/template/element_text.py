"""What is in the elements of a key page, as the decision on its template needs it."""

from __future__ import annotations

import re
from collections import Counter
from itertools import accumulate, compress, count
from operator import and_, itemgetter, lt, mul, sub
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tplspider.template.flat_page import FlatPage

# Elements that there are for the sake of the words in them.
WORDY = frozenset(
    "b blockquote caption code dd dl dt em figure h1 h2 h3 h4 h5 h6 li ol p pre small strong table"
    " tbody td tfoot th thead tr u ul".split()
)
TEXT_BLOCKS = WORDY - {"b", "em", "ol", "small", "strong", "u", "ul"} | {"br", "hr", "img"}

_LONGEST = 100  # characters: a paragraph is not worth ten menu entries
_WORDLESS_LINK = 5
_WORD = re.compile(r"[^\W\d_]{2}")


Kind = tuple[int, str, str | None]


class ElementTexts:
    """Lists by the number of an element, in document order."""

    def __init__(self, key: FlatPage) -> None:
        self._key = key
        # How much text is directly in an element, and how much in its subtree.
        self.own = [
            min(len(text), _LONGEST) if text else _WORDLESS_LINK if link else 0
            for text, link in zip(key.texts, key.links, strict=True)
        ]
        # The values at the ends of all elements, of one list after the other.
        self._at_ends = itemgetter(*key.ends) if len(key.ends) > 1 else lambda values: values[1:]
        self._kept: tuple[bytes, list[int]] = (b"", [])  # for what was template
        self.inside = self.sum(self.own)
        # Whether there is a word in that, not numbers or signs alone.
        self.words = [
            text != ""
            and ((len(text) > 1 and text[:2].isalpha()) or _WORD.search(text) is not None)
            for text in key.texts
        ]
        self._siblings: dict[int, Counter[Kind]] = {}

    def is_named(self, element: int) -> bool:
        """Whether an element has an id or a class."""
        return self._key.names[element] != (None, None)

    def kind(self, element: int) -> Kind:
        """What siblings of one kind have in common: parent, tag and class."""
        key = self._key
        return key.parents[element], key.tags[element], key.names[element][1]

    def is_alone(self, element: int) -> bool:
        """Whether no sibling is of the same kind."""
        parent = self._key.parents[element]
        if parent not in self._siblings:
            self._siblings[parent] = Counter(map(self.kind, self._key.children[parent]))
        return self._siblings[parent][self.kind(element)] == 1

    def within(self, values: Iterable[int]) -> Callable[[int], int]:
        """What gives the sum of the values in the subtree of one element or another."""
        before, ends = list(accumulate(values, initial=0)), self._key.ends
        return lambda element: before[ends[element]] - before[element]

    def own_within(self, some: Iterable[bool]) -> Callable[[int], int]:
        """The same for the text directly in *some* of the elements."""
        return self.within(map(mul, self.own, some))

    def sum(self, values: Iterable[int]) -> list[int]:
        """Of each element, the sum of the values in its subtree."""
        before = list(accumulate(values, initial=0))
        return list(map(sub, self._at_ends(before), before))

    def kept(self, template: Sequence[bool]) -> list[int]:
        """How much of the text in each element is template."""
        now = bytes(template)  # rules that change nothing come after each other
        if now != self._kept[0]:
            self._kept = now, self.sum(map(mul, self.own, now))
        return self._kept[1]

    def mixed(self, template: Sequence[bool]) -> list[int]:
        """The elements that are template, and of which not all the text is."""
        some_own = map(lt, self.kept(template), self.inside)
        return list(compress(count(), map(and_, template, some_own)))

    def is_menu(self, element: int, entries: int) -> bool:
        """Whether there are so many words in an element, and nearly all text of it in links."""
        key = self._key
        if sum(self.words[element : key.ends[element]]) < entries:
            return False
        linked = 0
        inside = element
        while inside < key.ends[element]:
            if key.links[inside]:
                linked += self.inside[inside]
                inside = key.ends[inside]
            else:
                inside += 1
        return linked >= 0.8 * self.inside[element]

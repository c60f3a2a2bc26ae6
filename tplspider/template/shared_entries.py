"""Entries that several lists have: a post that stands in two categories is not template.

Where all compared pages happen to list an entry, all of them vote for it. But its company gives it
away: on one page or another, entries of its kind that not all pages have stand before it, and some
after it. Template stands before all that pages have of their own, or after it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from operator import and_
from typing import TYPE_CHECKING

from tplspider.template.rules import accepted, drop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.template.element_text import ElementTexts
    from tplspider.template.flat_page import FlatPage

SHORTEST = 40  # characters of text in an entry

_ENTRIES = frozenset("article div li section".split())
_MARKED = frozenset({"article", "section"})  # what else is mostly the page's own may be a wrapper
_NUMBER = re.compile(r"\d+")


def drop_shared_entries(
    key: FlatPage,
    texts: ElementTexts,
    others: Sequence[FlatPage],
    mappings: Sequence[Sequence[int]],
    template: list[bool],
) -> None:
    """Drop entries of lists that are template amid entries of the same kind that are not."""
    kept = texts.kept(template)

    def is_kept(element: int) -> bool:
        return 2 * kept[element] >= texts.inside[element]

    candidates: dict[int, list[int]] = {}
    inside, tags = texts.inside, key.tags
    for element in accepted(map(and_, template, map(_ENTRIES.__contains__, tags))):
        if inside[element] >= SHORTEST and (
            tags[element] in _MARKED or (is_kept(element) and _kind(key, element)[1])
        ):
            candidates.setdefault(key.parents[element], []).append(element)
    dropped: list[int] = []
    for parent, entries in candidates.items():
        shared: list[int] = []
        own: list[int] = []
        for child in key.children[parent]:
            (shared if template[child] and is_kept(child) else own).append(child)
        spans = [(_ends(key, own), entries)] if own else []
        for other, mapping in zip(others, mappings, strict=True):
            if mapping[parent] >= 0:
                known = {mapping[child] for child in shared}
                theirs = [child for child in other.children[mapping[parent]] if child not in known]
                if theirs:
                    spans.append((_ends(other, theirs), [mapping[entry] for entry in entries]))
        for n, entry in enumerate(entries if spans else ()):
            kind = _kind(key, entry)
            places = [(ends[kind], where[n]) for ends, where in spans if kind in ends]
            if (
                any(first < place for (first, _), place in places)
                and any(0 <= place < last for (_, last), place in places)
                and not texts.is_menu(entry, 1)
            ):
                dropped.append(entry)
    drop(key, template, dropped)


def _ends(page: FlatPage, children: list[int]) -> dict[tuple[str, str], tuple[int, int]]:
    """The first and the last of the children of each kind."""
    ends: dict[tuple[str, str], tuple[int, int]] = {}
    for child in children:
        kind = _kind(page, child)
        ends[kind] = (ends.get(kind, (child, 0))[0], child)
    return ends


def _kind(page: FlatPage, element: int) -> tuple[str, str]:
    """The tag and the first class, numbers left out: ``post-17 sticky`` is a ``post-``."""
    return page.tags[element], _class_of(page.names[element][1])


@lru_cache(maxsize=1 << 10)  # pages of a site have the same classes
def _class_of(written: str | None) -> str:
    classes = (written or "").split(maxsplit=1)
    return _NUMBER.sub("", classes[0]) if classes else ""

"""Labels: words that pages have in the same place, within their own text.

"Director:" beside a name and "Read more" below each lead say nothing of the page. No tree tells
them from data that pages happen to share; their company does: where labels stand, most of what
stands is the same on other pages, and where data stands, little is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, compress
from typing import TYPE_CHECKING, Any

from lxml import etree

from tplspider.template.lines import CELLS
from tplspider.template.vote import entries_around

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tplspider.template.flat_page import FlatPage
    from tplspider.template.lines import Words

MOST = 2 / 3  # of the pages must have a label; one of them ...
HALF = 0.5  # ... where so many of the texts in its place are labels
COLUMN = 0.4  # of the texts in one place, to be labels
LIST = 2 / 3  # of the texts that either page has in one place: lists of links share less
_WORD = re.compile(r"[^\W\d_]{2}")
_SIGN = re.compile(r"\w")
_NUMBER = re.compile(r"\d+")
_CODE = frozenset("code math pre".split())

Placed = tuple[int, str]  # a slot: the kinds of an element and of the three around it


@dataclass(frozen=True, slots=True)
class PlacedTexts:
    """Which texts a page has where; with the target, if in a link."""

    texts: frozenset[Placed]
    links: frozenset[tuple[Placed, str]]


def placed_texts(page: FlatPage) -> PlacedTexts:
    """The texts of a page, each by its place."""
    slots, targets = _slots(page), _targets(page)
    texts: set[Placed] = set()
    links: set[tuple[Placed, str]] = set()
    for element, text in _texts(page):
        placed = slots[element], text
        texts.add(placed)
        if targets[element]:
            links.add((placed, targets[element]))
    return PlacedTexts(frozenset(texts), frozenset(links))


def _texts(page: FlatPage) -> Iterator[tuple[int, str]]:
    """The elements with each text directly in them."""
    written, numbers = page.written, page.numbers
    for place, text in enumerate(written.texts):
        if text and numbers[place] >= 0:
            yield numbers[place], text
    for place, text in enumerate(written.tails):
        if text and place and numbers[written.parents[place]] >= 0:
            yield numbers[written.parents[place]], text


def _slots(page: FlatPage) -> list[int]:
    """Of each element its slot, as a hash: so many tuples would be slow."""
    parents = page.parents
    cells = [0] * len(parents)
    for row in {parents[cell] for cell, tag in enumerate(page.tags) if tag in CELLS}:
        for place, cell in enumerate(page.children[row]):
            cells[cell] = place
    classes = [_without_numbers(name[1]) for name in page.names]
    classes[0] = ""  # a body may be named for its page
    kinds = list(map(hash, zip(page.tags, classes, cells, strict=True)))
    above = [0, *[kinds[parent] for parent in parents[1:]]]
    outer = [0, *[above[parent] for parent in parents[1:]]]
    outmost = [0, *[outer[parent] for parent in parents[1:]]]
    return list(map(hash, zip(kinds, above, outer, outmost, strict=True)))


@lru_cache(maxsize=1 << 10)  # pages of a site have the same classes
def _without_numbers(written: str | None) -> str:
    return _NUMBER.sub("", written or "")


def _targets(page: FlatPage) -> list[str]:
    """Where the link that an element is in leads, if to a page."""
    targets = [""] * len(page.tags)
    for element, tag in enumerate(page.tags):
        if tag == "a":
            target = page.targets[element]
            targets[element] = target if target.startswith("http") else ""
        elif element:
            targets[element] = targets[page.parents[element]]
    return targets


def find_labels(
    page: FlatPage,
    runs: list[list[Words]],
    template: Sequence[bool],
    loose: Sequence[int],
    others: Sequence[PlacedTexts],
) -> list[int]:
    """The texts of a page that are labels, given the *runs* of its lines.

    They are given by their nodes: *n* for the text in a node, ``~n`` for that after it. A line is
    left out as a whole, or up to a colon, or from a link on at its end. A link is left out whole.
    """
    slots = _slots(page)
    own = [not yes for yes in template]
    for element in loose:
        own[element] = True
    columns = {slots[part[1]] for run in runs for part in run if own[part[1]]}
    if not columns:
        return []
    known, entries = _shared_in_columns(page, slots, columns, others)
    in_record = [False] * len(slots)
    entries.sort()
    for element in entries_around(page, entries):
        end = page.ends[element]
        first, after = bisect_left(entries, element), bisect_left(entries, end)
        if len({slots[n] for n in entries[first:after]}) == after - first:  # one entry, not several
            in_record[element:end] = [True] * (end - element)
    # Of what stands in entries alone, labels are what is in several of them.
    beside = {slots[element] for element, _ in _texts(page) if not in_record[element]}
    counts = Counter((slots[element], text) for element, text in _texts(page))
    for element, tag in enumerate(page.tags):
        if tag in _CODE:
            slots[element : page.ends[element]] = [0] * (page.ends[element] - element)
    labels: list[int] = []
    for run in runs:
        if not any(own[part[1]] for part in run):
            continue
        found = [
            (placed := (slots[element], text)) in known
            and (placed[0] in beside or counts[placed] > 1)
            for text, element, _, _ in run
        ]
        if any(found):
            kept = _kept(run, found, own)
            found[kept] = [False] * len(found[kept])
            labels += [part[3] for part in compress(run, found) if own[part[1]]]
    return labels


def _shared_in_columns(
    page: FlatPage, slots: list[int], wanted: set[int], others: Sequence[PlacedTexts]
) -> tuple[set[Placed], list[int]]:
    """The texts that enough pages have in the same slot, as many of those in it.

    And the links that are entries of lists: pages have some of them, and others beside these.
    """
    targets = _targets(page)
    least = max(min(2, len(others)), MOST * len(others))
    places = {
        (slot, text): element
        for element, text in _texts(page)
        if (slot := slots[element]) in wanted
    }
    votes = Counter(chain.from_iterable(places.keys() & each.texts for each in others))
    votes = Counter({placed: count for placed, count in votes.items() if _has_word(placed)})
    columns = Counter(slot for slot, _ in filter(_has_word, places))
    shared = Counter(slot for (slot, _), count in votes.items() if count >= least)
    # A link to the same page is an entry of a list, unless nearly all in its place are the same.
    lists = {
        placed[0]
        for placed, count in votes.items()
        if count >= least
        and (target := targets[places[placed]])
        and sum((placed, target) in each.links for each in others) >= least
    }
    if lists:
        theirs = Counter(slot for each in others for slot, _ in each.texts if slot in lists)
        both: Counter[int] = Counter()
        for (slot, _), count in votes.items():
            both[slot] += count
        lists = {
            slot
            for slot in lists
            if both[slot] < LIST * (len(others) * columns[slot] + theirs[slot] - both[slot])
        }
    labels = {
        placed
        for placed, count in votes.items()
        if (slot := placed[0]) not in lists
        and shared[slot] > (COLUMN if count >= least else HALF) * columns[slot]
    }
    return labels, [
        element for (slot, _), element in places.items() if slot in lists and targets[element]
    ]


def _has_word(placed: Placed) -> bool:
    return _WORD.search(placed[1]) is not None


def _kept(run: list[Words], found: list[bool], own: list[bool]) -> slice:
    """Which parts of a line are kept, in a row."""
    if all(
        yes or not own[element] or _SIGN.search(text) is None
        for yes, (text, element, _, _) in zip(found, run, strict=True)
    ):
        return slice(0)
    start = max((n for n, part in enumerate(run, 1) if part[0].endswith(":")), default=0)
    start = start if all(found[:start]) else 0
    end = len(run)
    kept_links = {-1, *[part[2] for yes, part in zip(found, run, strict=True) if not yes]}
    while end > start and run[end - 1][2] not in kept_links:
        end -= 1
    return slice(start, end)


# What authors mark as no part of the text, and the banners of the common consent tools.

# Far faster than one path with an "or", and as fast on pages full of them, unlike one with a "|".
_MARKS = [
    etree.XPath(f".//*/@{mark}")
    for mark in ("data-nosnippet", "data-ai-crawl-exclude", "aria-hidden[.='true']")
]
_CONSENT = re.compile(
    "onetrust-(?:consent|banner)|CybotCookiebot|cookie-(?:law-info|notice$)|didomi-host|usercentrics"
    "|qc-cmp2?-|truste-consent|sp_message_container|iubenda-cs|cmpbox|cookiescript_|tarteaucitron"
    "|hs-eu-cookie|BorlabsCookie|moove_gdpr|cookieconsent:"
)


def marked_elements(page: FlatPage) -> list[int]:
    """What authors mark as no part of the text.

    Where that is half of the page or more, it is none: a dialog hides the rest, not for long.
    """
    values: Iterable[Any] = chain.from_iterable(marks(page.elements[0]) for marks in _MARKS)  # type: ignore[misc]
    by_mark = {value.getparent() for value in values}
    found = [n for n, element in enumerate(page.elements) if element in by_mark] if by_mark else []
    found += [
        number
        for number, (name, _) in enumerate(page.names)
        if name and page.tags[number] == "div" and _CONSENT.match(name)
    ]
    marked: list[int] = []
    end = size = 0
    for number in sorted(found):
        if number >= end:
            marked.append(number)
            end = page.ends[number]
            size += sum(map(len, page.texts[number:end]))
    return marked if 2 * size < sum(map(len, page.texts)) else []

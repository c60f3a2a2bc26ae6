"""What the votes cannot see: rules that look at the key page alone, after the vote.

Each changes *template* in place, which stays closed under parents.
"""

from __future__ import annotations

from itertools import compress, count
from operator import sub
from typing import TYPE_CHECKING

from tplspider.template.element_text import WORDY, ElementTexts, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tplspider.template.flat_page import FlatPage

RECORDS = 3  # so many alike, side by side and with texts of their own, are records in a list
PATCHWORK = 0.5  # the share of the page's own in what may be a patchwork of both
LABEL = 2  # times the data: what is longer is not there for the sake of the data ...
SHORT_LABEL = 12  # ... but for a few letters
MAIN_SHARE = 0.5  # of the text that is not template: what has so much of it is the main text

_CONTROLS = frozenset("button img input label select svg textarea".split())
# There for the sake of their entries, whatever their names.
_LISTS = frozenset({"dl", "ol", "ul"})
_WRAPPERS = frozenset("article div main section".split())


def drop_records(key: FlatPage, texts: ElementTexts, template: list[bool]) -> None:
    """Drop the entries of a list of posts and the like, of which other pages have the frame."""
    kept = texts.kept(template)
    alike: dict[Kind, list[int]] = {}
    for element in texts.mixed(template):
        if element and kept[element] < 0.5 * texts.inside[element]:
            alike.setdefault(texts.kind(element), []).append(element)
    drop(key, template, [n for group in alike.values() if len(group) >= RECORDS for n in group])


def drop_patchwork(key: FlatPage, texts: ElementTexts, template: list[bool]) -> None:
    """Drop what is template amid siblings of its kind that are not: rows, entries, paragraphs.

    Template comes in blocks, before and after the page's own. Where it is a row here and a row
    there, between rows of the page's own, pages happen to have the same data.
    """
    kept = texts.kept(template)
    groups: dict[Kind, list[int]] = {}
    mixed = [key.children[parent] for parent in texts.mixed(template)]
    for element in [child for inside in mixed if len(inside) >= RECORDS for child in inside]:
        if texts.inside[element]:
            groups.setdefault(texts.kind(element), []).append(element)
    dropped: list[int] = []
    for group in groups.values():
        own = [n for n, element in enumerate(group) if 2 * kept[element] < texts.inside[element]]
        if len(own) < RECORDS:
            continue
        span = group[own[0] : own[-1] + 1]
        whole = sum(texts.inside[element] for element in span)
        if sum(texts.inside[group[n]] - kept[group[n]] for n in own) >= PATCHWORK * whole:
            dropped += [
                element
                for element in span
                if 2 * kept[element] >= texts.inside[element] and not texts.is_menu(element, 4)
            ]
    drop(key, template, dropped)


def drop_hollow(key: FlatPage, texts: ElementTexts, template: list[bool]) -> None:
    """Drop paragraphs, lists, cells ... of which nothing but the element itself is template."""
    doubtful = [
        element
        for element in texts.mixed(template)
        if key.tags[element] in _LISTS
        or (key.tags[element] in WORDY and (key.texts[element] or not texts.is_named(element)))
    ]
    if not doubtful:
        return
    solid = [0] * len(template)
    for element in accepted(template):
        if texts.words[element] or key.links[element] or key.tags[element] in _CONTROLS:
            solid[element] = 1
    has_solid = texts.within(solid)
    drop(key, template, [element for element in doubtful if not has_solid(element)])


def drop_labelled_data(key: FlatPage, texts: ElementTexts, template: list[bool]) -> list[int]:
    """Drop the smallest blocks of some words and links that no other page has.

    "On this page" above a table of contents, "Related" above a list, "Next" beside a link are the
    same words everywhere, but they are there because of what the page has. They are returned.
    """
    anchors = [
        element
        for element, link in enumerate(key.links)
        if link and key.tags[element] in ("a", "area")
    ]
    around: set[int] = set()  # links of the page's own
    for element in anchors:
        if not template[element]:
            parent = key.parents[element]
            while parent > 0 and parent not in around:
                around.add(parent)
                parent = key.parents[parent]
    common = [0] * len(template)
    for element in anchors:
        common[element] = int(template[element])
    has_common = texts.within(common)
    blocks = [element for element in around if template[element] and not has_common(element)]
    if not blocks:
        return []
    in_link = [False] * len(template)
    for element in anchors:
        in_link[element : key.ends[element]] = [True] * (key.ends[element] - element)
    label, others, linked = ([0] * len(template) for _ in range(3))
    for element, text in enumerate(texts.own):
        if not template[element]:
            (linked if in_link[element] else others)[element] = text
        elif texts.words[element] and not in_link[element]:
            label[element] = text
    labels, rest, links = map(texts.within, (label, others, linked))
    dropped: list[int] = []
    holds_one: set[int] = set()
    for element in sorted(blocks, reverse=True):
        data = links(element)
        is_label = 0 < labels(element) <= max(SHORT_LABEL, LABEL * data)
        labelled = is_label and rest(element) <= 0.3 * data
        if labelled and element not in holds_one:
            dropped.append(element)
        if labelled or element in holds_one:
            holds_one.add(key.parents[element])
    drop(key, template, dropped)
    return dropped


def accept_main_wrappers(key: FlatPage, texts: ElementTexts, template: list[bool]) -> None:
    """Accept the elements round the main text, also where no other page has the like."""
    left = list(map(sub, texts.inside, texts.kept(template)))
    main = 0
    while inside := [child for child in key.children[main] if left[child] >= MAIN_SHARE * left[0]]:
        main = inside[0]
        if template[main]:
            continue
        has_class = key.names[main][1] is not None
        if (
            key.tags[main] not in _WRAPPERS
            or key.texts[main]
            or not (has_class or key.tags[main] in ("article", "main"))
        ):
            break
        template[main] = True


def accepted(template: Iterable[bool]) -> list[int]:
    """The elements that are template, without the body."""
    return [element for element in compress(count(), template) if element]


def drop(key: FlatPage, template: list[bool], elements: list[int]) -> None:
    """Drop these elements, and with them all that is in them."""
    for element in elements:
        end = key.ends[element]
        template[element:end] = [False] * (end - element)

"""Lines that too few pages have as they stand, and that are template by where they stand.

A menu has the same entries on all pages, but one of them may lead elsewhere, or be mere text on the
page it leads to. And what only pages of one kind have, one page alone may show.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.template.flat_page import FlatPage
    from tplspider.template.page_lines import FoundLines, Line, Names

NEAREST = 0.8  # how much a page must weigh to vouch for lines alone, the nearest weighing 1
END = 0.5  # of what is not common: a page that has more of it has what the key page is about


def find_entries(
    lines: list[Line],
    common: list[bool],
    found_lines: Sequence[FoundLines],
    weights: Sequence[float],
    share: float,
) -> set[int]:
    """Entries of menus that lead elsewhere on other pages, or nowhere on the key page.

    A site may have two addresses for a page, and the entry of the page itself may be mere text.
    Between links that are the same on most pages the words are enough, if two pages agree where
    they lead: "Next" leads elsewhere on each.
    """
    targets = [found.targets for found in found_lines]
    entries: set[int] = set()
    end = 0
    while end < len(lines):
        start = end
        while end < len(lines) and common[end] == common[start]:
            end += 1
        if common[start] or not start or end == len(lines):
            continue
        if lines[start - 1].link and lines[end].link:
            row = range(start, end)
            if all(_is_entry(lines[place], targets, weights, share) for place in row):
                entries.update(row)
    return entries


def _is_entry(
    line: Line, targets: Sequence[dict[str, set[str]]], weights: Sequence[float], share: float
) -> bool:
    """Whether a *share* of the pages, by weight, have such a link, and some of them agree."""
    having = [found.get(line.text, set()) for found in targets]
    agreed = Counter([line.link] if line.link else ())
    for found in having:
        agreed.update(found)
    votes = sum(weight for found, weight in zip(having, weights, strict=True) if found)
    return votes >= share * sum(weights) and max(agreed.values(), default=0) > 1


def accept_end(  # noqa: PLR0917 - what the rules on lines have in common
    key: FlatPage,
    lines: list[Line],
    sizes: list[int],
    names: list[Names],
    common: list[bool],
    found_lines: Sequence[FoundLines],
    weights: Sequence[float],
) -> None:
    """Accept lines after the last of the page's own that a page near enough has alone.

    It may be the only one of the key page's kind. Amid the page's own lines what two pages share
    may be a coincidence; after them stands template, but for a link by itself: two pages may be
    followed by the same one.
    """
    # Without urljoin: the address of a page in memory may be anything.
    scheme, slashes, rest = key.url.partition("//")
    site = f"{scheme}{slashes}{rest.partition('/')[0]}/"
    most = END * sum(size for size, yes in zip(sizes, common, strict=True) if not yes)
    for found, weight in zip(found_lines, weights, strict=True):
        if weight < NEAREST:
            continue
        used: dict[tuple[str, str], int] = {}
        end = []
        for place in range(len(lines) - 1, -1, -1):
            which = names[place]
            if not common[place]:
                if not any(found.get(name, 0) > used.get(name, 0) for name in which):
                    break
                end.append(place)
            for name in which:
                used[name] = used.get(name, 0) + 1
        row = {*end}
        end = [
            place
            for place in end
            if not lines[place].target.startswith(site) or {place - 1, place + 1} & row
        ]
        if sum(sizes[place] for place in end) <= most:
            for place in end:
                common[place] = True

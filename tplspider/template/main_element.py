"""Where on a page its main part is, and what stands beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tplspider.template.flat_page import FlatPage
    from tplspider.template.page_lines import Line

MAIN_SHARE = 0.7  # of the text in an element: what has so much of it is where the main part is


def main_element(page: FlatPage, lines: list[Line], weights: list[float]) -> tuple[int, int]:
    """Where the main part is: the element that has most of the text, from the top down."""
    inside = [0.0] * len(page.tags)
    for line, weight in zip(lines, weights, strict=True):
        inside[line.elements[0]] += weight
    for element in range(len(inside) - 1, 0, -1):
        inside[page.parents[element]] += inside[element]
    main = 0
    while inside[main] > 0:
        children = [child for child in page.children[main] if inside[child]]
        best = max(children, key=lambda child: inside[child], default=main)
        if best == main or inside[best] < MAIN_SHARE * inside[main]:
            break
        if any(child != best and kind_of(page, child) == kind_of(page, best) for child in children):
            break  # one of several of its kind: an entry, a paragraph
        main = best
    return main, page.ends[main]


def kind_of(page: FlatPage, element: int) -> tuple[str, str | None]:
    """The tag and the class of an element."""
    return page.tags[element], page.names[element][1]


def outermost_outside(page: FlatPage, element: int, start: int, end: int) -> int:
    """The largest element round one that does not hold the main part; -1 in the main part."""
    if start <= element < end:
        return -1
    found = element
    while (parent := page.parents[found]) >= 0 and not parent <= start < page.ends[parent]:
        found = parent
    return found

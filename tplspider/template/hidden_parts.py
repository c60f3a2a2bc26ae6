"""Parts that a page hides from its readers: copies for small screens, dialogs, traps for robots.

Much that is hidden is there to be shown: the panels of tabs, answers below questions. What is
opened from somewhere on the page, by its id, is not taken for hidden; nor is most of a page's text.
"""

from __future__ import annotations

import re
from itertools import chain, repeat
from typing import TYPE_CHECKING

from tplspider.web.html import Element, strings_xpath

if TYPE_CHECKING:
    from tplspider.template.flat_page import FlatPage
    from tplspider.template.page_lines import Line

_UNSEEN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_OPENERS = strings_xpath(
    "//@aria-controls | //@data-target | //@data-bs-target | //@onclick"
    " | //a/@href[starts-with(., '#') or starts-with(., 'javascript:')]"
)
_ID = re.compile(r"[\w-]+")


def hidden_elements(page: FlatPage, own: list[int], lines: list[Line]) -> set[int]:
    """The elements that the page hides and has nothing to open them by, and all that is in them.

    *own* are elements with something of the page's own, and *lines* its lines: where most of them
    are hidden, a script shows them. What has none of either in it is not looked at.
    """
    tops = [number for number in _candidates(page, own, lines) if _is_hidden(page.elements[number])]
    if not tops:
        return set()
    if any(page.names[number][0] for number in tops):
        opened = {name for value in _OPENERS(page.elements[0]) for name in _ID.findall(value)}
        tops = [number for number in tops if page.names[number][0] not in opened]
    hidden: set[int] = set()
    for number in tops:
        hidden.update(range(number, page.ends[number]))
    unseen = sum(line.letters for line in lines if hidden.issuperset(line.elements))
    return hidden if 2 * unseen < sum(line.letters for line in lines) else set()


def _candidates(page: FlatPage, own: list[int], lines: list[Line]) -> list[int]:
    """The elements in which something is hidden if anything is."""
    around = {*own}
    outside = {-1, *map(page.parents.__getitem__, own), *chain(*[line.elements for line in lines])}
    for element in outside - around:
        while element >= 0 and element not in around:
            around.add(element)
            element = page.parents[element]  # noqa: PLW2901 - up to one that is known
    numbers = sorted(around)
    elements = [page.elements[number] for number in numbers]
    styles, marks = (map(Element.get, elements, repeat(name)) for name in ("style", "hidden"))
    return [
        number
        for number, style, mark in zip(numbers, styles, marks, strict=True)
        if mark is not None
        or page.tags[number] == "dialog"
        or (style and _UNSEEN.search(style) is not None)
    ]


def _is_hidden(element: Element) -> bool:
    if element.get("role") == "tabpanel":
        return False
    if element.tag == "dialog":
        return element.get("open") is None
    # What is hidden until it is found is there to be found.
    if element.get("hidden", "until-found").strip().lower() != "until-found":
        return True
    return _UNSEEN.search(element.get("style") or "") is not None

"""The XPaths of elements of a page, many at a time."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tplspider.web.html import find_all

if TYPE_CHECKING:
    from tplspider.template.flat_page import FlatPage

_LONGEST = 1000  # characters
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def element_paths(page: FlatPage, wanted: list[int]) -> list[str]:
    """The XPaths of some elements (lxml's ``getpath`` counts siblings again for each)."""
    top = page.elements[0]
    paths = {0: top.getroottree().getpath(top)}
    steps: dict[int, str] = {}

    def path(element: int) -> str:
        above = []
        while element not in paths:
            above.append(element)
            element = page.parents[element]
        found = paths[element]
        for inner in reversed(above):
            if inner not in steps:
                _name_steps(page, page.parents[inner], steps)
            if found:
                found = f"{found}/{steps[inner]}" if len(found) < _LONGEST else ""
            paths[inner] = found
        return found

    found = [path(element) for element in wanted]
    if "" not in found:
        return found
    # Thousands of elements deep, paths would fill the memory: a place in the document does it, too.
    places = {element: place for place, element in enumerate(find_all(top, "*"), 1)}
    return [
        short or f"(//*)[{places[page.elements[element]]}]"
        for short, element in zip(found, wanted, strict=True)
    ]


def _name_steps(page: FlatPage, parent: int, steps: dict[int, str]) -> None:
    """The last step of the XPath of each child of an element."""
    children = page.children[parent]
    tags = [page.tags[child] for child in children]
    counts: dict[str, int] = {}
    places = None
    for child, tag in zip(children, tags, strict=True):
        counts[tag] = counts.get(tag, 0) + 1
        if _PLAIN_NAME.fullmatch(tag):
            steps[child] = f"{tag}[{counts[tag]}]"
            continue
        if places is None:  # a name like o:p is none in XPath: count all siblings
            siblings = page.elements[parent].iterchildren("*")
            places = {sibling: place for place, sibling in enumerate(siblings, 1)}
        steps[child] = f"*[{places[page.elements[child]]}]"

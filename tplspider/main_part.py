"""The main part of a page: what a reader came for, within what is not template."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tplspider.own_parts import TAKEN_OUT, own_parts, part_html
from tplspider.text_lines import lines_of_parts

if TYPE_CHECKING:
    from tplspider.flat_page import FlatPage


@dataclass(slots=True)
class MainPart:
    """The main part of a page: elements, words directly in others, and what is left out."""

    page: FlatPage
    elements: list[int]
    loose: list[int]
    without: list[int] = field(default_factory=list)

    def lines(self) -> list[str]:
        """Its text."""
        elements = self.page.elements
        return lines_of_parts(
            elements[0],
            {elements[number] for number in self.elements},
            {elements[number] for number in self.loose},
            {elements[number] for number in self.without},
        )

    def take_html(self) -> str:
        """Its HTML; what is left out is taken out of the tree."""
        from lxml import etree
        parts = own_parts(self.page, self.elements, self.loose)
        for number in self.without:
            self.page.elements[number].tag = TAKEN_OUT
        etree.strip_elements(self.page.elements[0], TAKEN_OUT, with_tail=False)
        return "\n".join(map(part_html, parts))


def find_main_part(
    page: FlatPage, template: list[bool], loose: list[int], data: list[int]
) -> MainPart:
    """The main part."""
    outermost = [
        element
        for element, parent in enumerate(page.parents)
        if parent >= 0 and not template[element] and template[parent]
    ]
    return MainPart(page, outermost, loose)

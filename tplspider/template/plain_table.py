"""Which tables of a page are tables, with rows and columns, and which only lay it out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.template.text_lines import CELLS

if TYPE_CHECKING:
    from tplspider.web.html import Element

WIDEST = 20  # columns that one cell is taken to go over
_PARTS = frozenset({"thead", "tbody", "tfoot"})
_COLUMNS = frozenset({"col", "colgroup"})


def outer_tables(top: Element) -> set[Element]:
    """The tables with another one in them, or with code of several lines.

    Cells of a table in Markdown are a line each, so what is in these has to stand by itself.
    """
    found: set[Element] = set()
    for inner in top.iter("table", "pre"):
        if inner.tag == "pre" and "\n" not in "".join(map(str, inner.itertext())).strip():
            continue
        for around in inner.iterancestors("table"):
            if around in found:
                break
            found.add(around)
    return found


def is_table(table: Element) -> bool:
    """Whether a table has rows and columns, and nothing else stands between its cells."""
    sizes: list[int] = []
    parts = [table, *(child for child in table if child.tag in _PARTS)]
    for part in parts:
        if _has_words(part):
            return False
        for child in part:
            if child.tag == "tr":
                if _has_words(child) or any(
                    cell.tag not in CELLS for cell in child.iterchildren("*")
                ):
                    return False
                sizes.append(sum(map(columns_of, child.iterchildren("*"))))
            elif isinstance(child.tag, str) and child.tag not in _PARTS | _COLUMNS:
                return False
    # Every row is made as wide as the widest: not where that is most of the table.
    cells = sum(sizes)
    return cells > 0 and len(sizes) * max(sizes) <= 4 * cells + 1000


def columns_of(cell: Element) -> int:
    """How many columns a cell goes over."""
    given = cell.get("colspan", "")
    return min(max(int(given), 1), WIDEST) if given.isdecimal() and len(given) < 7 else 1


def _has_words(element: Element) -> bool:
    """Whether there is text directly in an element."""
    texts = (element.text, *(child.tail for child in element))
    return any(text and not text.isspace() for text in texts)

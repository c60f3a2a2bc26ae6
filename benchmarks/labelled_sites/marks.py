"""The three variants of a site, and the marks that tell where the key page's own data went.

A mark is a word that no text has. It is put before each text of the key page as the text enters the
generator, so wherever the mark comes out, the text does.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.labelled_sites.plan import Page
    from benchmarks.labelled_sites.prose import Block

TITLE, HEAD, BODY, META = "Zqtitle", "Zqhead", "Zqbody", "Zqmeta"
MENU = "Zqmenu"  # with a letter for the entry
MARK = re.compile(r"zq(?:title|head|body|meta)", re.IGNORECASE)
MENU_MARK = re.compile(r"zqmenu[a-z]", re.IGNORECASE)
ANY = re.compile(r"zq(?:title|head|body|meta|menu[a-z])[-_ ]?", re.IGNORECASE)

UNTITLED, UNDATED = "Untitled", "2001-01-01"  # what stands for the data of an empty page


class Variant(Enum):
    """How a site is built."""

    CLEAN = "clean"
    MARKED = "marked"
    EMPTY = "empty"


def without_marks(text: str) -> str:
    """*text* as it was before it was marked."""
    return ANY.sub("", text)


def menu_entries(labels: Sequence[str], variant: Variant) -> list[str]:
    """The entries of the main menu, each with a mark of its own in the marked variant."""
    if variant is not Variant.MARKED:
        return list(labels)
    return [f"{MENU}{chr(ord('a') + i)} {label}" for i, label in enumerate(labels)]


def _marked_block(block: Block) -> Block:
    """A block with a mark in each item, row, or text."""
    mark = HEAD if block.kind == "heading" else BODY
    if block.kind == "code":
        return replace(block, lines=(f"{mark} {block.lines[0]}", *block.lines[1:]))
    cells = (line.split("\t") for line in block.lines)
    return replace(block, lines=tuple("\t".join(f"{mark} {cell}" for cell in row) for row in cells))


def as_variant(page: Page, variant: Variant) -> Page:
    """The page with its own data as the variant has it."""
    if variant is Variant.MARKED:
        return replace(
            page,
            title=f"{TITLE} {page.title}",
            description=f"{META} {page.description}",
            category=f"{META} {page.category}",
            tags=tuple(f"{META} {tag}" for tag in page.tags),
            blocks=tuple(_marked_block(block) for block in page.blocks),
        )
    if variant is Variant.EMPTY:
        return replace(
            page,
            title=UNTITLED,
            description="",
            category="None",
            date=UNDATED,
            tags=(),
            blocks=(),
            related=(),
        )
    return page

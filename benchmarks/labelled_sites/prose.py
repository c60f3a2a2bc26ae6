"""Articles from Python's own language reference, which every installation has for its help().

The text is what ``pydoc_data.topics`` holds: prose with headings, lists and code. Tables come from
the docstrings of a few modules. Which articles there are depends on the version of Python alone.
"""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

COMPOSITE = {"compound", "specialnames", "else"}  # topics made of others
LEVELS = {"*": 1, "=": 2, "-": 3, "~": 4}  # of headings, by their underlines
MODULES = tuple("bisect calendar fnmatch glob heapq math random shutil statistics textwrap".split())
MAX_CODE_LINES, MAX_ROWS = 12, 8
DRAWN = re.compile(r"[=+|-]{9}")  # a table drawn in characters


@dataclass(frozen=True)
class Block:
    """A piece of a page. A row of a table has tabs between its cells."""

    kind: Literal["paragraph", "heading", "list", "code", "table", "link"]
    lines: tuple[str, ...]
    level: int = 0  # of a heading
    target: str = ""  # of a link: a page (section/slug), or an address that starts with a slash


@dataclass(frozen=True)
class Article:
    """A title and what follows it."""

    title: str
    blocks: tuple[Block, ...]


def plain(text: str) -> str:
    """A title in letters, digits and what no markup takes for its own."""
    words = " ".join(re.sub(r"[^A-Za-z0-9,:()' -]+", " ", text).split())
    return words.replace(" ,", ",")


def _paragraphs(text: str) -> Iterator[list[str]]:
    """The runs of lines between empty lines."""
    for run in re.split(r"\n\s*\n", text):
        lines = [line for line in run.splitlines() if line.strip()]
        if lines and not DRAWN.match(lines[0]):
            yield lines


def _block(lines: list[str]) -> Block:
    """What a run of lines is."""
    if len(lines) == 2 and re.fullmatch(r"([*=~-])\1{2,}", lines[1]):
        return Block("heading", (plain(lines[0]),), level=LEVELS[lines[1][0]])
    if re.match(r"(\*|\d+\.) ", lines[0]):
        items = re.split(r"\n(?:\*|\d+\.) ", "\n" + "\n".join(lines))[1:]
        return Block("list", tuple(" ".join(item.split()) for item in items))
    if lines[0].startswith("   "):
        indent = min(len(line) - len(line.lstrip()) for line in lines)
        return Block("code", tuple(line[indent:].rstrip() for line in lines[:MAX_CODE_LINES]))
    return Block("paragraph", (" ".join(" ".join(lines).split()),))


def _merged(blocks: list[Block]) -> list[Block]:
    """The same blocks with neighbouring lists, and neighbouring pieces of code, as one each."""
    merged: list[Block] = []
    for block in blocks:
        last = merged[-1] if merged else None
        if last and block.kind == last.kind == "list":
            merged[-1] = Block("list", last.lines + block.lines)
        elif last and block.kind == last.kind == "code":
            merged[-1] = Block("code", (*last.lines, *block.lines)[:MAX_CODE_LINES])
        else:
            merged.append(block)
    return merged


@cache
def tables() -> tuple[Block, ...]:
    """A table for each module: its functions and the first line of what they say of themselves."""
    found = []
    for name in MODULES:
        module = importlib.import_module(name)
        rows = [f"Function of {name}\tWhat it does"]
        for public in sorted(getattr(module, "__all__", None) or dir(module)):
            value = getattr(module, public)
            if not public.startswith("_") and inspect.isroutine(value) and value.__doc__:
                summary = value.__doc__.strip().splitlines()[0].replace("\t", " ")
                rows.append(f"{public}\t{summary}")
        found.append(Block("table", tuple(rows[: MAX_ROWS + 1])))
    return tuple(found)


@cache
def articles() -> tuple[Article, ...]:
    """All articles, in the order of their titles."""
    topics: dict[str, str] = importlib.import_module("pydoc_data.topics").topics
    found: dict[str, Article] = {}
    for name in sorted(topics.keys() - COMPOSITE):
        first, *rest = _merged([_block(lines) for lines in _paragraphs(topics[name])])
        if first.kind == "heading" and first.lines[0] and rest:
            title = first.lines[0]
            # What follows a second title is another document.
            end = next((i for i, block in enumerate(rest) if block.level == 1), len(rest))
            if end:
                found.setdefault(title, Article(title, tuple(rest[:end])))
    return tuple(found[title] for title in sorted(found))

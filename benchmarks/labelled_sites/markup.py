"""Blocks as Markdown and as reStructuredText."""

from __future__ import annotations

import os.path
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.labelled_sites.plan import Page
    from benchmarks.labelled_sites.prose import Block

# Names in quotes are code, as the reference writes them; emphasis has the same signs everywhere.
INLINE = re.compile(
    r'"([A-Za-z_][A-Za-z0-9_.()]*)"|(\*\*\w[\w ]*:?\*\*|(?<!\w)\*\w[\w -]*\*(?!\w))'
)
UNDERLINES = "=-~^"  # of headings in reStructuredText


def _inline(text: str, escape: Callable[[str], str], quote: str) -> str:
    """A text with names as code, emphasis as it is, and everything else as plain text."""
    parts, end = [], 0
    for found in INLINE.finditer(text):
        code, emphasis = found.groups()
        parts += [escape(text[end : found.start()]), f"{quote}{code}{quote}" if code else emphasis]
        end = found.end()
    return "".join([*parts, escape(text[end:])])


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|!~&+-])", r"\\\1", text).replace(r"\&", "&amp;")


def _markdown_text(text: str) -> str:
    escaped = _inline(text, _escape_markdown, "`").replace(r"\<", "&lt;").replace(r"\>", "&gt;")
    return re.sub(r"\\([~-])", r"\1", escaped)


def _markdown_block(block: Block, link: Callable[[str], str]) -> str:
    texts = [_markdown_text(line) for line in block.lines]
    match block.kind:
        case "heading":
            return f"{'#' * max(block.level, 2)} {texts[0]}"
        case "list":
            return "\n".join(f"- {text}" for text in texts)
        case "code":
            return "\n".join(["```python", *block.lines, "```"])
        case "table":
            head, *rows = [" | ".join(text.split("\t")) for text in texts]
            return "\n".join(f"| {row} |" for row in (head, "--- | ---", *rows))
        case "link":
            return f"See [{texts[0]}]({link(block.target)})."
    return texts[0]


def markdown(page: Page, link: Callable[[str], str]) -> str:
    """The body of a page, without its title. *link* makes addresses of targets."""
    return "\n\n".join(_markdown_block(block, link) for block in page.blocks) + "\n"


def relative_source(page: Page, target: str, suffix: str) -> str:
    """The way from a page to another in the sources; addresses stay as they are."""
    if target.startswith("/"):
        return target
    return os.path.relpath(target, page.section or ".") + suffix


def _escape_rst(text: str) -> str:
    return re.sub(r"([\\`*_|<>])", r"\\\1", text)


def _rst_text(text: str) -> str:
    # Inline markup needs white space around it; an escaped space shows nothing.
    markup = r"(``[^`]+``|(?<![\\*])\*{1,2}\w[^*]*\*{1,2})"
    return re.sub(markup, r"\\ \1\\ ", _inline(text, _escape_rst, "``"))


def _rst_block(block: Block) -> str:
    texts = [_rst_text(line) for line in block.lines]
    match block.kind:
        case "list":
            return "\n".join(f"* {text}" for text in texts)
        case "code":
            lines = (f"   {line}".rstrip() for line in block.lines)
            return "\n".join([".. code-block:: python", "", *lines])
        case "table":
            rows = [f"   * - {text}".replace("\t", "\n     - ") for text in texts]
            return "\n".join([".. list-table::", "   :header-rows: 1", "", *rows])
        case "link":
            if block.target.startswith("/"):
                return f"See `{texts[0]} <{block.target}>`__."
            return f"See :doc:`{texts[0]} </{block.target}>`."
    return texts[0]


def rst(page: Page, first: str) -> str:
    """A page with its title, what comes *first*, and its body.

    Levels of headings that the text jumps over are closed up.
    """
    parts = [f"{page.title}\n{UNDERLINES[0] * len(page.title)}", first]
    depth = 1
    for block in page.blocks:
        if block.kind == "heading":
            depth = min(max(block.level, 2), depth + 1)
            text = _rst_text(block.lines[0])
            parts.append(f"{text}\n{UNDERLINES[min(depth, 4) - 1] * len(text)}")
        else:
            parts.append(_rst_block(block))
    return "\n\n".join(filter(None, parts)) + "\n"

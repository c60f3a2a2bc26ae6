"""The text of a part of a page, as lines: a block is a line of its own, as a reader sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from tplspider.tree import fold

if TYPE_CHECKING:
    from tplspider.tree import Element

_HIDDEN = frozenset({"script", "style", "noscript", "template"})
BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset"
    " figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p"
    " pre section summary table tbody tfoot thead title tr ul".split()
)
_NOT_PLAIN = _HIDDEN | {"pre"}
CELLS = frozenset({"td", "th"})


def text_lines(element: Element) -> list[str]:
    """The visible text of an element, without empty lines; text in ``pre`` keeps its own lines."""
    if not len(element) and element.tag not in _NOT_PLAIN:
        text = fold(element.text or "")
        return [text] if text else []
    lines: list[str] = []
    line: list[str] = []
    hidden = preformatted = 0

    def end_line() -> None:
        if text := fold("".join(line)):
            lines.append(text)
        line.clear()

    def add(text: str | None) -> None:
        if not text or hidden:
            return
        if not preformatted:
            line.append(text)
            return
        first, *rest = text.split("\n")
        line.append(first)
        for text_line in rest:
            if written := "".join(line).rstrip():
                lines.append(written)
            line[:] = [text_line]

    for event, node in etree.iterwalk(element, events=("start", "end", "comment", "pi")):
        tag = node.tag
        if event in ("comment", "pi"):
            add(node.tail)
        elif event == "start":
            if tag in BLOCKS:
                end_line()
            elif tag in CELLS:
                line.append(" ")
            hidden += tag in _HIDDEN
            preformatted += tag == "pre"
            add(node.text)
        else:
            if preformatted and tag == "pre" and (written := "".join(line).rstrip()):
                lines.append(written)
                line.clear()
            hidden -= tag in _HIDDEN
            preformatted -= tag == "pre"
            if tag in BLOCKS:
                end_line()
            if node is not element:
                add(node.tail)
    end_line()
    return lines

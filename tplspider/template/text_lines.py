"""The text of a page or of parts of it, as lines: a block is a line, as a reader sees it.

An inline element never ends a line, whether or not it is one of the parts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lxml import etree

from tplspider.web.html import fold

if TYPE_CHECKING:
    from collections.abc import Collection

    from tplspider.web.html import Element

BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset"
    " figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p"
    " pre section summary table tbody tfoot thead title tr ul".split()
)
CELLS = frozenset({"td", "th"})
_HIDDEN = frozenset({"script", "style", "noscript", "template"})
_PREFORMATTED = frozenset({"pre", "textarea"})
_NOT_PLAIN = _HIDDEN | _PREFORMATTED


def text_lines(element: Element) -> list[str]:
    """The visible text of an element, without empty lines; text in ``pre`` keeps its own lines."""
    if not len(element) and element.tag not in _NOT_PLAIN:
        text = fold(element.text or "")
        return [text] if text else []
    return lines_of_parts(element, {element}, (), ())


def lines_of_parts(  # noqa: PLR0912, PLR0915 - one walk, of a page that may be large
    top: Element,
    parts: Collection[Element],
    loose: Collection[Element],
    without: Collection[Element],
) -> list[str]:
    """The text of some parts of *top*: whole elements, and the words directly in *loose* ones.

    What is in elements of *without* is left out. Where words are left out, the line ends.
    """
    lines: list[str] = []
    line: list[str] = []
    hidden = preformatted = inside = 0

    def end_line() -> None:
        if text := fold("".join(line)):
            lines.append(text)
        line.clear()

    def end_written_line() -> None:
        if written := "".join(line).rstrip():
            lines.append(written)
        line.clear()

    def add(text: str | None, holder: Element | None) -> None:
        if not text or hidden > 0:
            return
        if not inside and holder not in loose:
            if text.isspace():
                line.append(text)
            else:
                end_line()
        elif preformatted:
            first, *rest = text.split("\n")
            line.append(first)
            for text_line in rest:
                end_written_line()
                line.append(text_line)
        else:
            line.append(text)

    # What most of the texts are, words of a part, is added in the walk itself.
    walk = etree.iterwalk(top, events=("start", "end", "comment", "pi"))
    around = _around(parts, loose)
    for event, node in walk:
        tag = node.tag
        if event == "start":
            if tag in BLOCKS:
                if line:
                    end_line()
                if not inside and node not in around:
                    walk.skip_subtree()  # nothing is taken of it: it ends a line, and that is all
            elif tag in CELLS:
                line.append(" ")
            if tag in _NOT_PLAIN:
                hidden += tag in _HIDDEN
                preformatted += tag in _PREFORMATTED
            if node in without:
                hidden += 1
            if node in parts:
                inside += 1
            if text := node.text:
                if inside and not hidden and not preformatted:
                    line.append(text)
                else:
                    add(text, node)
        elif event == "end":
            if tag in _NOT_PLAIN:
                if preformatted and tag in _PREFORMATTED:
                    end_written_line()
                hidden -= tag in _HIDDEN
                preformatted -= tag in _PREFORMATTED
            if node in without:
                hidden -= 1
            if node in parts:
                inside -= 1
            if tag in BLOCKS and line:
                end_line()
            if node is not top and (tail := node.tail):
                if inside and not hidden and not preformatted:
                    line.append(tail)
                else:
                    add(tail, None if inside else node.getparent())
        else:
            add(node.tail, node.getparent())
    end_line()
    return lines


def _around(parts: Collection[Element], loose: Collection[Element]) -> set[Element]:
    """The elements that have one of these in them, and these."""
    found = {*parts, *loose}
    for part in (*parts, *loose):
        for ancestor in part.iterancestors():
            if ancestor in found:
                break
            found.add(ancestor)
    return found

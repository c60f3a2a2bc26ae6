"""Code on a page: its lines as they are written, without their numbers, and its language."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from lxml import etree

from tplspider.template.text_lines import BLOCKS, CELLS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.web.html import Element

HIDDEN = frozenset({"script", "style", "noscript", "template"})  # as in texts
# How generators name what holds the numbers of lines, and the cell that holds lines. Not "number":
# that is a number in the code.
_NUMBERS = frozenset(
    "blob-num gutter hljs-ln-numbers line-number line-numbers linenodiv lineno linenos"
    " linenumber linenumbers ln lnt lntd rouge-gutter".split()
)
_LINES = frozenset("blob-code code code-line hljs-ln-code line-code rouge-code".split())
# A pre with one of these in it is a part of a page that is written so, not code.
_NOT_IN_CODE = ("dl", "h1", "h2", "h3", "h4", "h5", "h6", "img", "ol", "p", "ul")

_LANGUAGE = re.compile(r"(?:(?:language|lang|highlight-source|highlight|src)-|brush:)(.+)")
_NAME = re.compile(r"[a-z0-9][a-z0-9+#._-]{0,29}", re.IGNORECASE)
_NOT_A_LANGUAGE = frozenset("auto default nohighlight none notranslate null undefined".split())
# In a class beside one of these, the other word is the language: "highlight js", "hljs python".
_BESIDE = frozenset({"highlight", "hljs", "sourceCode", "chroma", "prettyprint"})
_BESIDE_NAMES = re.compile(r"[a-z][a-z0-9+#]{0,11}")
_STYLING = frozenset(
    "body clearfix code container copy dark light line linenums lines numberlines scroll source"
    " table wrap wrapper".split()
)
_AROUND = 8  # elements around a pre that may name its language: a table is five
_MAY_NAME = frozenset("code div figure pre section table tbody td tr".split())


def is_code(pre: Element) -> bool:
    """Whether a ``pre`` holds nothing but lines."""
    return next(pre.iter(*_NOT_IN_CODE), None) is None


def code_in_table(table: Element) -> list[Element]:
    """What holds the code, where a table is nothing but code beside the numbers of its lines.

    It is one cell (a row for all lines) or many (a row for each line); none in any other table.
    """
    rows = [[cell for cell in row if cell.tag in CELLS] for row in _rows(table)]
    if not rows or any(len(row) != 2 for row in rows):
        return []
    numbers, lines = zip(*rows, strict=True)
    texts = ["".join(cell.itertext()).strip() for cell in numbers]
    counted = _counted(numbers[0].itertext() if len(rows) == 1 else texts)
    if any(texts) and not counted:
        return []
    if len(rows) == 1:
        named = _is_named(numbers[0], _NUMBERS)
        has_code = next(lines[0].iter("pre"), None) is not None or _is_named(lines[0], _LINES)
        return [*lines] if has_code and (named or counted > 1) else []
    numbered = counted or all(cell.get("data-line-number") for cell in numbers)
    return [*lines] if numbered and all(_is_named(cell, _LINES) for cell in lines) else []


def code_text(element: Element) -> str:
    """The lines of code in an element, as they are written."""
    written: list[str] = []

    def new_line() -> None:
        if written and not written[-1].endswith("\n"):
            written.append("\n")

    walk = etree.iterwalk(element, events=("start", "end", "comment", "pi"))
    for event, node in walk:
        is_block = node.tag in BLOCKS and node is not element
        if event == "start":
            if node.tag in HIDDEN or (node is not element and _is_number(node)):
                walk.skip_subtree()
                if has_blocks(node):
                    new_line()
                continue
            if is_block and node.tag != "br":
                new_line()
            elif node.tag in CELLS and node is not element:
                written.append(" ")
            if node.text:
                written.append(node.text)
        else:
            if event == "end" and node.tag == "br":
                written.append("\n")
            elif event == "end" and (is_block or node.tag == "textarea"):
                new_line()
            if node is not element and node.tail:
                written.append(node.tail)
    lines = [line.rstrip() for line in "".join(written).splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    start = next((n for n, line in enumerate(lines) if line), 0)
    return "\n".join(lines[start:])


def has_blocks(element: Element) -> bool:
    """Whether an element has blocks in it, each of which is a line."""
    return len(element) > 0 and next(element.iterdescendants(*BLOCKS), None) is not None


def language_of(element: Element) -> str:
    """The language that a page says its code is in, by what it is in or around; "" if none."""
    inner = next(element.iter("code", "pre"), element)
    nodes = [*dict.fromkeys((inner, *inner.iter("code"), element))]
    for around in element.iterancestors():
        if len(nodes) > _AROUND or around.tag not in _MAY_NAME:
            break
        nodes.append(around)
        if around.tag == "figure":
            break
    return next(filter(None, map(_named_language, nodes)), "")


def names_language(element: Element) -> bool:
    """Whether an element says in which language the code in it is."""
    return _named_language(element) != ""


def _named_language(element: Element) -> str:
    for name in ("data-lang", "data-language"):
        if given := _language(element.get(name, "")):
            return given
    names = element.get("class", "").replace("brush: ", "brush:").replace(";", " ").split()
    for name in names:
        if (found := _LANGUAGE.fullmatch(name)) and (given := _language(found[1])):
            return given
    if element.tag in ("code", "figure", "pre") and not _BESIDE.isdisjoint(names):
        for name in names:
            beside = _BESIDE_NAMES.fullmatch(name) and name not in _BESIDE | _NUMBERS | _STYLING
            if beside and _language(name):
                return name
    return ""


def _language(name: str) -> str:
    name = name.strip()
    is_one = _NAME.fullmatch(name) and name.lower() not in _NOT_A_LANGUAGE
    return name.lower() if is_one else ""


def _rows(table: Element) -> Iterator[Element]:
    for child in table:
        if child.tag == "tr":
            yield child
        elif child.tag in ("tbody", "thead", "tfoot"):
            yield from child.iterchildren("tr")


def _is_number(element: Element) -> bool:
    """Whether an element in code is the number of a line."""
    if not _is_named(element, _NUMBERS):
        return False
    text = "".join(map(str, element.itertext())).strip()
    return not text or (text.isdecimal() and len(text) < 7)


def _is_named(element: Element, names: frozenset[str]) -> bool:
    return not names.isdisjoint(element.get("class", "").split())


def _counted(texts: Iterator[str] | list[str]) -> int:
    """How many numbers these texts are, each the next of the one before; 0 if they are not."""
    words = " ".join(texts).split()
    if not all(word.isdecimal() and len(word) < 7 for word in words):
        return 0
    numbers = [int(word) for word in words]
    follow = all(after == before + 1 for before, after in pairwise(numbers))
    return len(numbers) if follow else 0

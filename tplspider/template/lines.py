"""The lines of a page as a reader sees them, of code as they are written.

A block is a line. The same words make the same line in any ``font`` and ``span``: lines show what
hand-made pages share where their trees differ. An inline element never ends a line.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from itertools import chain, compress, groupby, pairwise, repeat
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from lxml import etree

from tplspider.web.html import UNCOUNTED, Element, NodeTexts, fold, read_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tplspider.template.flat_page import FlatPage


BLOCKS = frozenset(
    "address article aside blockquote body br caption center dd details dialog div dl dt fieldset"
    " figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main nav ol option p"
    " pre section summary table tbody tfoot thead title tr ul".split()
)
CELLS = frozenset({"td", "th"})
HIDDEN = frozenset({"script", "style", "noscript", "template"})
_PREFORMATTED = frozenset({"pre", "textarea"})
_COMMENTS = frozenset({etree.Comment, etree.ProcessingInstruction, etree.Entity})

# All of that at once, since it is asked for twice of each node: what a tag is, as bits; and whether
# a node is one of the parts, or of what is left out of them.
_BLOCK, _CELL, _IS_HIDDEN, _WRITTEN, _COMMENT, _PART, _LEFT_OUT = (1 << bit for bit in range(7))
_SETS = ((BLOCKS, _BLOCK), (CELLS, _CELL), (HIDDEN, _IS_HIDDEN), (_PREFORMATTED, _WRITTEN))
_KINDS: dict[Any, int] = dict.fromkeys(_COMMENTS, _COMMENT)
for _tags, _bit in _SETS:
    for _tag in _tags:
        _KINDS[_tag] = _KINDS.get(_tag, 0) | _bit


def text_lines(element: Element) -> list[str]:
    """The visible text of an element, without empty lines; text in ``pre`` keeps its own lines."""
    return lines_of_parts(read_nodes(list(element.iter())), [0])


def lines_of_parts(  # noqa: PLR0912, PLR0915 - one walk, of a page that may be large
    nodes: NodeTexts,
    parts: Iterable[int],
    loose: Iterable[int] = (),
    without: Iterable[int] = (),
) -> list[str]:
    """The text of some of the nodes: whole elements, and the words directly in *loose* ones.

    What is in elements of *without* is left out. Where words are left out, the line ends.
    """
    parts, loose, without = {*parts}, {*loose}, {*without}
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

    def add(text: str, holder: int) -> None:
        if hidden:
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
    above, tails = nodes.parents, nodes.written_tails
    kinds = list(map(_KINDS.get, nodes.tags, repeat(0)))
    for marked, mark in ((parts, _PART), (without, _LEFT_OUT)):
        for place in marked:
            kinds[place] |= mark
    around = _around(above, parts | loose)
    skipped = len(kinds)  # nothing is taken of what is in this one
    top = -1  # the last node that is still open
    # After the last node one that is in none of them.
    for place, (parent, kind, text) in enumerate(
        zip(chain(above, (-1,)), chain(kinds, (0,)), chain(nodes.written_texts, ("",)), strict=True)
    ):
        if parent >= skipped:
            continue
        while top != parent:
            if closing := kinds[top]:
                if closing & _WRITTEN:
                    end_written_line()
                    preformatted -= 1
                elif closing & _IS_HIDDEN:
                    hidden -= 1
                hidden -= closing & _LEFT_OUT != 0
                inside -= closing & _PART != 0
                if line and closing & _BLOCK:
                    end_line()
            tail, top = tails[top], above[top]
            if tail and top >= 0:  # what is after the first is not in it
                if inside and not hidden and not preformatted:
                    line.append(tail)
                else:
                    add(tail, top)
        if place == len(kinds):
            break
        top = place
        skipped = len(kinds)
        if kind:
            if kind & _BLOCK:
                if line:
                    end_line()
                if not inside and place not in around:
                    skipped = place  # it ends a line, and that is all
            elif kind & _CELL:
                line.append(" ")
            preformatted += kind & _WRITTEN != 0
            hidden += (kind & _IS_HIDDEN != 0) + (kind & _LEFT_OUT != 0)
            inside += kind & _PART != 0
        if text and not kind & _COMMENT:
            if inside and not hidden and not preformatted:
                line.append(text)
            else:
                add(text, place)
    end_line()
    return lines


def lines_of_elements(
    page: FlatPage, parts: Iterable[int], loose: Iterable[int] = (), without: Iterable[int] = ()
) -> list[str]:
    """The same of the elements of a page, by their numbers."""
    place = page.places.__getitem__
    return lines_of_parts(page.written, map(place, parts), map(place, loose), map(place, without))


def _around(parents: list[int], parts: set[int]) -> set[int]:
    """The nodes that have one of these in them, and these."""
    found = {*parts}
    for part in parts:
        place = parents[part]
        while place >= 0 and place not in found:
            found.add(place)
            place = parents[place]
    return found


_ENDS_LINE = BLOCKS | CELLS | {"button", "optgroup", "select", "textarea"}
_LINKS = frozenset({"a", "area"})
_HIDDEN_LINES = UNCOUNTED | {"template", "iframe", "object", "svg"}

# All of that at once: what a tag is.
_END, _LINK, _IS_UNSEEN = 1, 2, 4
_TAG_KINDS: dict[Any, int] = {
    **dict.fromkeys(_ENDS_LINE, _END),
    **dict.fromkeys(_LINKS, _LINK),
    **dict.fromkeys([*_HIDDEN_LINES, *_COMMENTS], _IS_UNSEEN),
}
_WORD = re.compile(r"\w")
_LINK_OF = itemgetter(2)  # of some words
_NO_LETTERS = bytes(code for code in range(128) if not chr(code).isalnum())
_NOT_ASCII = re.compile(r"[^\x00-\x7f]+")
_SYLLABLES = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def letters(text: str) -> int:
    """How many letters and digits there are; a Chinese or Korean one says as much as three."""
    if text.isascii():  # as bytes, since there are many lines
        return len(text.encode().translate(None, _NO_LETTERS))
    plain = text.encode("ascii", "ignore").translate(None, _NO_LETTERS)
    others = "".join(_NOT_ASCII.findall(text))
    return len(plain) + sum(map(str.isalnum, others)) + 2 * len(_SYLLABLES.findall(others))


def _all_letters(texts: list[str]) -> list[int]:
    """The same of many texts."""
    # At once, those that are ASCII: no text has a NUL in it.
    ascii_texts = "\0".join([text if text.isascii() else "" for text in texts])
    counts = list(map(len, ascii_texts.encode().translate(None, _NO_LETTERS[1:]).split(b"\0")))
    if not all(counts):
        return [n or letters(text) for n, text in zip(counts, texts, strict=False)]
    return counts


# Some words, the element they are directly in, the link that is in or -1, and their node: ~ of it
# if they stand after it.
Words = tuple[str, int, int, int]
Names = tuple[tuple[str, str], ...]  # of a line

LINK = 5  # letters that a link to the same place is worth, beside its own


class Line(NamedTuple):
    """What stands between two ends of a line.

    Of a line that is one link, *link* and *target* are where it leads, as in a FlatPage.
    """

    text: str
    link: str
    target: str
    elements: tuple[int, ...]
    letters: int  # and digits in the text
    linked: float = 0.0  # the share of the text in links

    @property
    def size(self) -> int:
        """How much there is of it that another line has hardly by coincidence."""
        return self.letters + (LINK if self.link else 0)

    @property
    def names(self) -> Names:
        """What makes two lines the same, any of these."""
        return _names(self.text, self.link, self.target) if self.link else ((self.text, ""),)


def page_lines(page: FlatPage, runs: list[list[Words]] | None = None) -> list[Line]:
    """The visible lines of a page, in document order; *runs* are its line_parts, if known.

    A run of nothing but links and signs between them (Home | News) is a line for each link.
    """
    rows = list(_rows(line_parts(page) if runs is None else runs))
    counts = _all_letters([text for text, _, _ in rows])
    return [
        _line(page, *row, n)
        for row, n in zip(rows, counts, strict=False)
        if n or "_" in row[0]  # all that \w stands for
    ]


def lines_in(lines: list[Line], among: list[bool]) -> list[bool]:
    """Of each line, whether all elements that hold its words are among some."""
    return [
        among[line.elements[0]]
        if len(line.elements) == 1
        else all(map(among.__getitem__, line.elements))
        for line in lines
    ]


class FoundLines(Counter[tuple[str, str]]):
    """The names of the lines that a page has, and how often they are there."""

    @cached_property
    def targets(self) -> dict[str, set[str]]:
        """Where the links with a text lead."""
        targets: dict[str, set[str]] = {}
        for text, where in self:
            if where:
                targets.setdefault(text, set()).add(where)
        return targets


def line_names(page: FlatPage) -> FoundLines:
    """The names of the lines of a page."""
    names: list[tuple[str, str]] = []
    for text, _, link in _rows(line_parts(page)):
        if link >= 0:
            names += _names(text, page.links[link], page.targets[link])
        else:
            names.append((text, ""))
    return FoundLines(names)


def _names(text: str, link: str, target: str) -> Names:
    path, query, _ = target.partition("?")
    if not query and link == target:
        return ((text, link),)
    # A query may be a session's, or say in which language one came.
    return tuple({(text, where): None for where in (link, target, path)})


def _rows(runs: list[list[Words]]) -> Iterator[tuple[str, list[Words], int]]:
    """What makes each line: its text, its parts, and the link that it is or -1."""
    for run in runs:
        if len(run) == 1:  # as most of them, and there may be many
            yield run[0][0], run, run[0][2]
        elif _is_links(run):
            for link, same in groupby(run, key=_LINK_OF):
                if link >= 0:
                    parts = list(same)
                    yield " ".join([part for part, _, _, _ in parts]), parts, link
        else:
            yield " ".join([part for part, _, _, _ in run]), run, -1


def line_parts(page: FlatPage) -> list[list[Words]]:  # noqa: PLR0912 - one walk, of a large page maybe
    """The words between two ends of a line, for all lines."""
    runs: list[list[Words]] = []
    run: list[Words] = []
    nodes, numbers, page_links = page.written, page.numbers, page.links
    tails, parents = nodes.tails, nodes.parents
    kinds = list(map(_TAG_KINDS.get, nodes.tags, repeat(0)))
    link = link_place = -1  # the link that words are in, and its place among the nodes
    around: list[tuple[int, int]] = []  # the same of links around it
    hidden = len(kinds)  # nothing of what is in this one is shown
    top = -1  # the last node that is still open

    # After the last node one that is in none of them.
    for place, (parent, kind, text) in enumerate(
        zip(chain(parents, (-1,)), chain(kinds, (0,)), chain(nodes.texts, ("",)), strict=True)
    ):
        if parent >= hidden:
            if run and kind & _END:
                runs.append(run)
                run = []
            continue
        while top != parent:
            if run and kinds[top] & _END:
                runs.append(run)
                run = []
            if top == link_place:
                link, link_place = around.pop()
            tail, top, closed = tails[top], parents[top], top
            if tail and top >= 0:  # what is after the body is not in it
                run.append((tail, numbers[top], link, ~closed))
        if place == len(kinds):
            break
        top = place
        hidden = len(kinds)
        if kind:
            if kind & _IS_UNSEEN:
                hidden = place
                continue
            if kind & _END:
                if run:
                    runs.append(run)
                    run = []
            elif page_links[numbers[place]]:
                around.append((link, link_place))
                link, link_place = numbers[place], place
        if text:
            run.append((text, numbers[place], link, place))
    if run:
        runs.append(run)
    return runs


def _is_links(run: list[Words]) -> bool:
    """Whether there are links, and no words beside them."""
    linked = False
    for text, _, link, _ in run:
        if link >= 0:
            linked = True
        elif _WORD.search(text):
            return False
    return linked


def _line(page: FlatPage, text: str, run: list[Words], link: int, count: int) -> Line:
    if len(run) == 1:
        elements: tuple[int, ...] = (run[0][1],)
        share = 0.0
    else:
        elements = tuple(dict.fromkeys([element for _, element, _, _ in run]))
        if link < 0:
            texts, tails = page.written.written_texts, page.written.written_tails
            sizes = [len(texts[n] if n >= 0 else tails[~n]) for _, _, _, n in run]
            linked = sum(compress(sizes, [in_link >= 0 for _, _, in_link, _ in run]))
            share = linked / sum(sizes)
    if link >= 0:
        what = text, page.links[link], page.targets[link], elements, count, 1.0
    else:
        what = text, "", "", elements, count, share
    return tuple.__new__(Line, what)  # in a third of the time of Line(*what): there may be many


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
_LANGUAGE_NAME = re.compile(r"[a-z0-9][a-z0-9+#._-]{0,29}", re.IGNORECASE)
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
    rows = [[cell for cell in row if cell.tag in CELLS] for row in _table_rows(table)]
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
    is_one = _LANGUAGE_NAME.fullmatch(name) and name.lower() not in _NOT_A_LANGUAGE
    return name.lower() if is_one else ""


def _table_rows(table: Element) -> Iterator[Element]:
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

"""Parts of a page as Markdown, by html-to-markdown, which is an extra."""

from __future__ import annotations

import logging
import re
from html import escape
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from lxml import etree

from tplspider.template.lines import (
    BLOCKS,
    CELLS,
    HIDDEN,
    code_in_table,
    code_text,
    has_blocks,
    is_code,
    language_of,
)
from tplspider.web.html import find_all, parse_html, top_level

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tplspider.items import PageTemplate
    from tplspider.web.html import Element

    Block = tuple[str, list[str]]


# Which tables of a page are tables, with rows and columns, and which only lay it out.

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


# HTML in the few elements that Markdown has: lines, headings, lists, quotes, tables and code.
#
# All words stay, but for scripts and the like. What is left of the elements is what a reader sees:
# a block is a line, as in texts. Fields of forms are gone, their words are lines.

DEEPEST = 10  # lists, quotes and tables in each other: what is deeper is lines of the last of them

_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_NESTED = frozenset({"blockquote", "ol", "ul"})
_INLINE = dict.fromkeys(("code", "kbd", "samp", "tt"), "code")
_INLINE |= {"a": "a", "b": "strong", "strong": "strong", "em": "em", "i": "em"}
_INLINE |= dict.fromkeys(("del", "s", "strike"), "del")
# Signs that would make HTML, links, images or definitions of words in Markdown.
_MARKUP = re.compile(r"<(?=[a-zA-Z/!?]|\Z)|&(?=#?\w+;)|(?<=\])[(:]")
_BREAK = "<br>"
_SPACE = re.compile(r"\s+")
_NOWHERE = ("javascript:", "vbscript:", "data:", "about:")
_ENTITIES = {"<": "&lt;", "&": "&amp;", "(": "&#40;", ":": "&#58;"}
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _as_words(text: str, *, after_bracket: bool = False) -> str:
    """A text of which Markdown makes nothing but words. Entities, as backslashes are escaped."""
    start = "]" if after_bracket else ""
    return _MARKUP.sub(lambda sign: _ENTITIES[sign[0]], start + text)[len(start) :]


def _address(element: Element, *names: str) -> str:
    """The first of these attributes that is an address and leads somewhere, as browsers read it."""
    given = (_CONTROLS.sub("", element.get(name, "")).strip() for name in names)
    return next((each for each in given if each and not each.lower().startswith(_NOWHERE)), "")


class PlainHtml:
    """Writes the plain HTML of elements, block by block; *blocks* has each with its texts."""

    def __init__(self) -> None:
        self.blocks: list[tuple[str, list[str]]] = []
        self._out: list[str] = []
        self._texts: list[str] = []
        self._nesting: list[str] = []  # what is written around: ul, li, blockquote, table, tr, td
        self._nested_in: list[Element] = []  # the elements that these are written for
        self._line: str | None = None  # the element of the line that is being written
        self._inline: list[tuple[Element, str, str]] = []  # what is around here, and its tags
        self._opened = 0  # so many of them are written
        self._headings: list[str] = []
        self._last = ""  # the last letter of the line

    def add(self, top: Element) -> None:
        """Write an element."""
        outer = outer_tables(top)
        walk = etree.iterwalk(top, events=("start", "end", "comment", "pi"))
        for event, node in walk:
            if event == "start":
                if node.tag in HIDDEN or self._code(node):
                    walk.skip_subtree()
                    if has_blocks(node):  # they are not shown, but end lines
                        self._end_line()
                    continue
                self._start(node, outer)
                self._text(node.text)
            else:
                if event == "end" and node.tag not in HIDDEN:
                    self._end(node)
                if node is not top:
                    self._text(node.tail)
        self._end_line()
        self._end_block()

    def _start(self, node: Element, outer: set[Element]) -> None:
        tag = node.tag
        if tag == "br":
            self._break_line()
        elif tag in BLOCKS or tag in CELLS:
            self._end_line()
        if tag in _HEADINGS:
            self._headings.append(tag)
        if written := self._nested(node, outer):
            self._nest(written, node)
        elif tag in _INLINE:
            self._start_inline(node)
        elif tag == "img":
            self._image(node)
        elif tag == "hr" and "table" not in self._nesting:
            self._out.append("<hr>")

    def _end(self, node: Element) -> None:
        tag = node.tag
        if (tag in BLOCKS and tag != "br") or tag == "textarea":
            self._end_line()
        if tag in _HEADINGS and self._headings:
            self._headings.pop()
        if self._nested_in and self._nested_in[-1] is node:
            self._end_line()
            self._nested_in.pop()
            self._out.append(f"</{self._nesting.pop()}>")
        elif self._inline and self._inline[-1][0] is node:
            if self._opened == len(self._inline):
                self._out.append(self._inline[-1][2])
                self._opened -= 1
            self._inline.pop()
        if not self._nesting and self._line is None:
            self._end_block()

    def _nested(self, node: Element, outer: set[Element]) -> str:
        """The element that is written for one that is not a line; "" if it is one or inside one."""
        tag = node.tag
        around = self._nesting[-1] if self._nesting else ""
        if around == "table":
            return "tr" if tag == "tr" else ""
        if around == "tr":
            return tag if tag in CELLS else ""
        if "table" in self._nesting:
            return ""
        if around in ("ul", "ol") and tag == "li":
            return "li"
        if len(self._nesting) >= DEEPEST:
            return ""
        if tag in _NESTED:
            return str(tag)
        return "table" if tag == "table" and node not in outer and is_table(node) else ""

    def _nest(self, tag: str, node: Element) -> None:
        attribute = ""
        if tag == "ol" and (start := node.get("start", "")).isdecimal() and len(start) < 7:
            attribute = f' start="{start}"'
        elif tag in CELLS and (columns := columns_of(node)) > 1:
            attribute = f' colspan="{columns}"'
        self._out.append(f"<{tag}{attribute}>")
        self._nesting.append(tag)
        self._nested_in.append(node)

    def _start_inline(self, node: Element) -> None:
        tag = _INLINE[node.tag]
        attribute = ""
        if tag == "a":
            href = _address(node, "href")
            if not href:
                return
            attribute = f' href="{escape(href)}"'
        tags = [each[2] for each in self._inline]
        if f"</{tag}>" in tags or ("</code>" in tags and tag != "a"):
            return
        self._inline.append((node, f"<{tag}{attribute}>", f"</{tag}>"))

    def _image(self, node: Element) -> None:
        source = _address(node, "src", "data-src", "data-original")
        alt = " ".join(node.get("alt", "").split())
        if source:
            self._open()
            self._out.append(f'<img src="{escape(source)}" alt="{escape(alt)}">')
        else:
            self._text(alt)

    def _code(self, node: Element) -> bool:
        """Write a block of code, if it is one and there is room for it."""
        if node.tag == "table" and (cells := code_in_table(node)):
            parts = cells
        elif node.tag == "pre" and is_code(node):
            table = next(node.iter("table"), None)
            parts = (table is not None and code_in_table(table)) or [node]
        else:
            return False
        if "table" in self._nesting or self._headings:
            return False
        self._end_line()
        text = "\n".join(map(code_text, parts))
        if text:
            language = language_of(parts[0]) or language_of(node)
            name = f' class="language-{escape(language)}"' if language else ""
            in_list = bool(self._nesting) and self._nesting[-1] in ("ul", "ol")
            code = f"<pre><code{name}>{escape(text, quote=False)}\n</code></pre>"
            self._out.append(f"<li>{code}</li>" if in_list else code)
            self._texts += ["\n", text, "\n"]
        return True

    def _text(self, text: str | None) -> None:
        if not text:
            return
        if text.isspace():
            if self._line is not None and self._out[-1] != _BREAK:
                self._out.append(" ")
                self._texts.append(" ")
                self._last = " "
            return
        if self._line is not None and text[0].isspace():
            self._out.append(" ")
        self._open()
        self._texts.append(_SPACE.sub(" ", text))
        if not any(closing == "</code>" for _, _, closing in self._inline):
            text, self._last = _as_words(text, after_bracket=self._last == "]"), text[-1]
        self._out.append(escape(" ".join(text.split()), quote=False) + " " * text[-1].isspace())

    def _open(self) -> None:
        """Open a line, and what is around here within it."""
        if self._line is None:
            around = self._nesting[-1] if self._nesting else ""
            if around in CELLS:
                self._line = ""
                self._out.append(" ")
            elif self._headings and not self._nesting:
                self._line = self._headings[-1]
            elif around in ("ul", "ol"):
                self._line = "li"
            elif around == "li" and self._out[-1].startswith("<li"):
                self._line = ""
            else:
                self._line = "p"
            self._out.append(f"<{self._line}>" if self._line else "")
        for _, opening, _ in self._inline[self._opened :]:
            if opening.startswith("<a") and self._out[-1].endswith("!"):  # or it is an image
                self._out[-1] = f"{self._out[-1][:-1]}&amp;#33;"
            self._out.append(opening)
        self._opened = len(self._inline)

    def _break_line(self) -> None:
        """Go to the next line of a paragraph; two breaks in a row end it."""
        if self._line is None:
            return
        if self._line in _HEADINGS or "table" in self._nesting:
            self._out.append(" ")
        elif self._out[-1] == _BREAK:
            self._end_line()
        else:
            self._out.append(_BREAK)

    def _end_line(self) -> None:
        if self._line is None:
            return
        if self._out[-1] == _BREAK:
            self._out.pop()
        self._out += [closing for _, _, closing in reversed(self._inline[: self._opened])]
        self._opened = 0
        self._out.append(f"</{self._line}>" if self._line else "")
        self._line, self._last = None, ""
        self._texts.append("\n")

    def _end_block(self) -> None:
        if self._out:
            self.blocks.append(("".join(self._out), self._texts))
            self._out, self._texts = [], []


logger = logging.getLogger(__name__)

_PACKAGE = "html_to_markdown"
LARGEST = 2_000_000  # characters at a time: it takes a hundred times as much memory
_WORD = re.compile(r"\w+")
_BASE = re.compile(r"<base\b", re.IGNORECASE)


class MarkdownMissingError(ImportError, ValueError):
    """What makes Markdown is not installed; the message says in a line what to do."""


def check_markdown() -> None:
    """Raise MarkdownMissingError where Markdown cannot be made: before any work is done for it."""
    try:
        found = find_spec(_PACKAGE)
    except (ImportError, ValueError):
        found = None
    if found is None:
        raise MarkdownMissingError(
            "Markdown needs html-to-markdown: in a clone, pip install -e '.[markdown]'"
        )


def to_markdown(html: str, base_url: str) -> str:
    """The Markdown of HTML, which may be several parts of a page, one after the other.

    Every word that is shown is in it, but for the numbers of lines of code. Addresses are absolute:
    *base_url* is that of the page, or its own ``<base href>``.
    """
    check_markdown()
    plain = PlainHtml()
    for top in top_level(parse_html(html)):
        plain.add(top)
    convert = _converter(base_url)
    found = (_markdown(convert, blocks) for blocks in _batches(plain.blocks))
    return "\n\n".join(filter(None, found))


def _batches(blocks: list[Block]) -> Iterator[list[Block]]:
    """The blocks, as many at a time as are not too much for the package."""
    batch: list[Block] = []
    size = 0
    for block in blocks:
        if batch and size + len(block[0]) > LARGEST:
            yield batch
            batch, size = [], 0
        batch.append(block)
        size += len(block[0])
    yield batch


def _markdown(convert: Callable[[str], str], blocks: list[Block]) -> str:
    html = "\n".join(block for block, _ in blocks)
    whole = _converted(convert, html, [text for _, texts in blocks for text in texts])
    if whole is not None:
        return whole
    # Rather a block without its marks than one without its words.
    found = []
    for block, texts in blocks:
        made = _converted(convert, block, texts)
        found.append(_as_words("".join(texts).strip()) if made is None else made)
    return "\n\n".join(filter(None, found))


def add_markdown(found: PageTemplate, html: str) -> None:
    """Put the Markdown of its two parts into the template of a page, whose *html* may move links.

    The address in it is that of the page.
    """
    base = base_address(html, found.key_url)
    found.content_markdown = to_markdown(found.content_html, base)
    is_all = found.main_html == found.content_html
    found.main_markdown = found.content_markdown if is_all else to_markdown(found.main_html, base)


def base_address(html: str, url: str) -> str:
    """What the addresses on a page at *url* are relative to: its first ``<base href>``, if any."""
    if not _BASE.search(html):
        return url  # most pages: they need not be parsed for that
    hrefs = (element.get("href") for element in find_all(parse_html(html), "base"))
    href = next((href for href in hrefs if href is not None), "").strip()
    try:
        base = urljoin(url, href)
    except ValueError:
        return url
    return base if base.startswith(("http:", "https:")) else url


def _converter(base_url: str) -> Callable[[str], str]:
    package = import_module(_PACKAGE)
    options = package.ConversionOptions(
        base_url=base_url or None,
        compact_tables=True,
        extract_metadata=False,
        # Everything that is left is wanted.
        hidden_content="all",
        preprocessing=package.PreprocessingOptions(enabled=False),
    )

    def convert(html: str) -> str:
        return str(package.convert(html, options).content or "").strip("\n")

    return convert


def _converted(convert: Callable[[str], str], html: str, texts: list[str]) -> str | None:
    """What the package makes of plain HTML; None where it fails, or loses a word."""
    if len(html) > 2 * LARGEST:
        return None
    try:
        made = convert(html)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of Rust is not an Exception
        logger.warning("html-to-markdown failed: %s", type(error).__name__)
        return None
    return made if has_words(made, texts) else None


def has_words(markdown: str, texts: Iterable[str]) -> bool:
    """Whether the words of the texts are in the Markdown, in their order."""
    place = 0
    for text in texts:
        for word in _WORD.findall(text):
            place = markdown.find(word, place)
            if place < 0:
                return False
            place += len(word)
    return True

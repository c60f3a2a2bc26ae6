"""HTML in the few elements that Markdown has: lines, headings, lists, quotes, tables and code.

All words stay, but for scripts and the like. What is left of the elements is what a reader sees: a
block is a line, as in texts. Fields of forms are gone, their words are lines.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

from lxml import etree

from tplspider.template.code_blocks import (
    HIDDEN,
    code_in_table,
    code_text,
    has_blocks,
    is_code,
    language_of,
)
from tplspider.template.plain_table import columns_of, is_table, outer_tables
from tplspider.template.text_lines import BLOCKS, CELLS

if TYPE_CHECKING:
    from tplspider.web.html import Element

DEEPEST = 10  # lists, quotes and tables in each other: what is deeper is lines of the last of them

_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_NESTED = frozenset({"blockquote", "ol", "ul"})
_INLINE = dict.fromkeys(("code", "kbd", "samp", "tt"), "code")
_INLINE |= {"a": "a", "b": "strong", "strong": "strong", "em": "em", "i": "em"}
_INLINE |= dict.fromkeys(("del", "s", "strike"), "del")
# Signs that would make HTML of words in Markdown.
_MARKUP = re.compile(r"<(?=[a-zA-Z/!?])|&(?=#?\w+;)")
_BREAK = "<br>"
_SPACE = re.compile(r"\s+")
_NOWHERE = ("javascript:", "vbscript:", "data:", "about:")


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
            href = "".join(node.get("href", "").split("\n")).strip()
            if not href or href.lower().startswith(_NOWHERE):
                return
            attribute = f' href="{escape(href)}"'
        tags = [each[2] for each in self._inline]
        if f"</{tag}>" in tags or ("</code>" in tags and tag != "a"):
            return
        self._inline.append((node, f"<{tag}{attribute}>", f"</{tag}>"))

    def _image(self, node: Element) -> None:
        sources = (node.get(name, "").strip() for name in ("src", "data-src", "data-original"))
        source = next(
            (each for each in sources if each and not each.lower().startswith(_NOWHERE)), ""
        )
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
            return
        if self._line is not None and text[0].isspace():
            self._out.append(" ")
        self._open()
        self._texts.append(_SPACE.sub(" ", text))
        if not any(closing == "</code>" for _, _, closing in self._inline):
            text = _MARKUP.sub(lambda found: escape(found[0]), text)
        self._out.append(escape(" ".join(text.split()), quote=False))
        self._out.append(" " * text[-1].isspace())

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
        self._line = None
        self._texts.append("\n")

    def _end_block(self) -> None:
        if self._out:
            self.blocks.append(("".join(self._out), self._texts))
            self._out, self._texts = [], []

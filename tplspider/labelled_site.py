"""Websites whose key page is labelled, in the format of the TECO suite.

The elements of the key page that are not template carry the class ``TECO_notTemplate``, the one
that encloses its text ``TECO_mainContent``, that of the menu ``TECO_mainMenu`` (arXiv 1409.6182).
The labels are read once and taken off the file's bytes: no code under test can see them.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse

from tplspider.saved_site import SavedSite
from tplspider.tree import parse_html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path

    from tplspider.tree import Element

NOT_TEMPLATE, MAIN_CONTENT = "TECO_notTemplate", "TECO_mainContent"

_CLASS = re.compile(rb"""\s+class\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'=<>`]+))""", re.IGNORECASE)
_LABEL = re.compile(rb"(?:^|\s+)TECO_\w+(?=\s|$)")
_PAGES = (".html", ".htm", ".xhtml", ".php", ".asp", ".aspx", ".jsp")
UNCOUNTED = ("script", "style", "noscript")


@dataclass(frozen=True)
class Labels:
    """What the labels of a key page say, by the number of an element in document order."""

    elements: int
    counted: frozenset[int]
    template: frozenset[int]
    main_content: frozenset[int]


class LabelledSite(SavedSite):
    """A saved site whose key page carries labels, which nobody sees but :meth:`labels`."""

    def __init__(self, folder: Path, key_path: str) -> None:
        super().__init__(folder)
        self.key_url = self.url + key_path

    def read(self, file: Traversable) -> bytes:
        return without_labels(file.read_bytes())

    def labels(self) -> Labels:
        """The labels of the key page."""
        labelled = SavedSite(self.folder).page(self.key_url)
        assert isinstance(labelled, HtmlResponse)
        return read_labels(parse_html(labelled.text))


def without_labels(html: bytes) -> bytes:
    """The page as it was before it was labelled."""
    if b"TECO_" not in html:
        return html

    def clean(attribute: re.Match[bytes]) -> bytes:
        value = next(group for group in attribute.groups() if group is not None)
        if b"TECO_" not in value:
            return attribute[0]
        rest = _LABEL.sub(b"", value).strip()
        return attribute[0].replace(value, rest) if rest else b""

    return _CLASS.sub(clean, html)


def read_labels(root: Element) -> Labels:
    """Which elements are in ``body``, which of them are template, and which enclose the text."""
    counted, template, main = set(), set(), set()
    number = {element: i for i, element in enumerate(root.iter("*"))}
    for body in root.iter("body"):
        hidden: set[Element] = set()
        other: set[Element] = set()
        for element in body.iter("*"):
            parent = element.getparent()
            classes = (element.get("class") or "").split()
            if element.tag in UNCOUNTED or parent in hidden:
                hidden.add(element)
                continue
            counted.add(number[element])
            if MAIN_CONTENT in classes:
                main.add(number[element])
            if NOT_TEMPLATE in classes or parent in other:
                other.add(element)
            else:
                template.add(number[element])
    return Labels(len(number), frozenset(counted), frozenset(template), frozenset(main))


def labelled_sites(corpus: Path) -> Iterator[LabelledSite]:
    """The sites of a corpus, in the order of its ``sites.tsv`` or, without one, by name."""
    table = corpus / "sites.tsv"
    if table.is_file():
        with table.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                yield LabelledSite(corpus / row["site"], row["key_path"])
        return
    for folder in sorted(path for path in corpus.iterdir() if path.is_dir()):
        for file in sorted(folder.rglob("*")):
            if file.suffix.lower() in _PAGES and NOT_TEMPLATE.encode() in file.read_bytes():
                yield LabelledSite(folder, "/" + file.relative_to(folder).as_posix())
                break

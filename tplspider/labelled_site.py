"""Websites whose key page is labelled, in the format of the TECO suite.

The labels are read once and taken off the files as they are read: no code under test sees them.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from scrapy.http import HtmlResponse
from w3lib.url import safe_url_string

from tplspider.labels import Labels, labels_of, read_labels, without_labels
from tplspider.saved_site import SavedSite
from tplspider.tree import find_all, parse_html

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable
    from pathlib import Path


class CorpusError(ValueError):
    """There is no corpus, or none that can be read."""


class LabelError(ValueError):
    """A site without a key page, or whose key page has no labels that could be used."""


class LabelledSite(SavedSite):
    """A saved site whose key page carries labels, which nobody sees but :meth:`labels`.

    The key page is the one at *key_path* or, without it, the first page that carries labels.
    """

    def __init__(self, folder: Path, key_path: str = "") -> None:
        super().__init__(folder)
        if key_path:
            self.key_url = safe_url_string(f"{self.url}/{key_path.removeprefix('/')}")
        else:
            self.key_url = self._labelled_page()

    def read(self, file: Traversable) -> bytes:
        return without_labels(file.read_bytes())

    def key_page(self) -> HtmlResponse:
        """The key page, without its labels."""
        if not self.folder.is_dir():
            raise LabelError("there is no such folder")
        if not self.key_url:
            raise LabelError("none of its pages carries labels")
        page = self.page(self.key_url)
        if isinstance(page, str):
            raise LabelError(f"its key page {self.key_url} is no page ({page})")
        return page

    def labels(self) -> Labels:
        """The labels of the key page; the numbers of its elements are those without labels, too."""
        bare = parse_html(self.key_page().text)
        page = SavedSite(self.folder).page(self.key_url)
        assert isinstance(page, HtmlResponse)
        labelled = parse_html(page.text)
        if not any(map(labels_of, find_all(labelled, "*"))):
            raise LabelError(f"its key page {self.key_url} carries no labels")
        tags = [element.tag for element in find_all(bare, "*")]
        if tags != [element.tag for element in find_all(labelled, "*")] or any(
            "teco_" in (element.get("class") or "").lower() for element in find_all(bare, "*")
        ):
            raise LabelError(f"the labels cannot be taken off its key page {self.key_url}")
        return read_labels(labelled)

    def _labelled_page(self) -> str:
        """The address of the first page that carries labels, by name; "" if there is none."""
        for file in self.files():
            content = file.read_bytes()
            if without_labels(content) != content:
                url = self.address(file)
                return url if file.name != "index.html" else self._index_address(url)
        return ""

    def _index_address(self, directory: str) -> str:
        """Of the two addresses of an ``index.html``, the one that links on it look like."""
        page = self.load(directory)
        if not isinstance(page, HtmlResponse):
            return directory
        links = [element.get("href") or "" for element in find_all(parse_html(page.text), "a")]
        paths = [re.split("[?#]", link)[0] for link in links]
        named = sum(path.endswith("index.html") for path in paths)
        return directory + ("index.html" if named > sum(p.endswith("/") for p in paths) else "")


def labelled_sites(corpus: Path) -> Iterator[LabelledSite]:
    """The sites of a corpus, in the order of its ``sites.tsv`` or, without one, by name."""
    table = corpus / "sites.tsv"
    if not table.is_file():
        folders = [path for path in corpus.iterdir() if path.is_dir()] if corpus.is_dir() else []
        for folder in sorted(folders):
            if not folder.name.startswith("."):
                yield LabelledSite(folder)
        return
    with table.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        if not {"site", "key_path"} <= {*(rows.fieldnames or ())}:
            raise CorpusError(f"{table}: expected columns site and key_path, divided by tabs")
        for row in rows:
            if row["site"]:
                yield LabelledSite(corpus / row["site"], row["key_path"] or "")

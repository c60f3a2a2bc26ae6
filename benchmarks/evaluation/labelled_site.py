"""Websites whose key page is labelled, in the format of the TECO suite.

The labels are read once and taken off the files as they are read: no code under test sees them.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from w3lib.url import safe_url_string

from benchmarks.evaluation.labels import Labels, labels_of, read_labels, without_labels
from tplspider.sources.base import load_once, load_page
from tplspider.sources.folder import FolderSite, is_folder
from tplspider.web.html import find_all, parse_html
from tplspider.web.page import NoPage, WebPage, page_fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class CorpusError(ValueError):
    """There is no corpus, or none that can be read."""


class LabelError(ValueError):
    """A site without a key page, or whose key page has no labels that could be used."""


class LabelledSite:
    """A site in a folder whose key page carries labels, which nobody sees but :meth:`labels`.

    The key page is the one at *key_path* or, without it, the first page that carries labels.
    """

    def __init__(self, folder: Path, key_path: str = "") -> None:
        self.folder = folder
        self.pages = FolderSite(folder, without_labels)
        self._key_path = key_path

    @cached_property
    def key_url(self) -> str:
        """The address of the key page; "" if there is none. Looking for it may read every file."""
        if self._key_path:
            return safe_url_string(f"{self.pages.url}/{self._key_path.removeprefix('/')}")
        return self._labelled_page()

    def key_page(self) -> WebPage:
        """The key page, without its labels."""
        if not is_folder(self.folder):
            raise LabelError("there is no such folder")
        if not self.key_url:
            raise LabelError("none of its pages carries labels")
        page = load_page(self.pages, self.key_url)
        if isinstance(page, NoPage):
            raise LabelError(f"its key page {self.key_url} is not a page ({page.reason})")
        return page

    def labels(self) -> Labels:
        """The labels of the key page; the numbers of its elements are those without labels, too."""
        bare = parse_html(self.key_page().text)
        page = load_page(FolderSite(self.folder), self.key_url)
        labelled = parse_html(page.text if isinstance(page, WebPage) else "")
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
        for file in self.pages.files():
            content = self.pages.read(file)
            if without_labels(content) != content:
                url = self.pages.address(file)
                return url if file.name != "index.html" else self._index_address(url)
        return ""

    def _index_address(self, directory: str) -> str:
        """Of the two addresses of an ``index.html``, the one that links on it look like."""
        page = load_once(self.pages, directory)
        if not isinstance(page, WebPage) or page_fault(page):
            return directory
        links = [element.get("href") or "" for element in find_all(parse_html(page.text), "a")]
        paths = [re.split("[?#]", link)[0] for link in links]
        named = sum(path.endswith("index.html") for path in paths)
        return directory + ("index.html" if named > sum(p.endswith("/") for p in paths) else "")


def labelled_sites(corpus: Path) -> Iterator[LabelledSite]:
    """The sites of a corpus, in the order of its ``sites.tsv`` or, without one, by name."""
    table = corpus / "sites.tsv"
    try:
        if table.is_file():
            named = _table_rows(table)
        else:
            folders = [path for path in corpus.iterdir() if path.is_dir()]
            names = sorted(path.name for path in folders if not path.name.startswith("."))
            named = [(name, "") for name in names]
    except OSError as error:
        name = error.filename or table
        raise CorpusError(f"{name} cannot be read ({error.strerror})") from None
    for name, key_path in named:
        yield LabelledSite(corpus / name, key_path)


def _table_rows(table: Path) -> list[tuple[str, str]]:
    """The sites that a table names, and their key pages. Fields may be of any length."""
    try:
        lines = table.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{table} is not in UTF-8 ({error.reason})") from None
    header, *rows = (line.split("\t") for line in lines)
    if not {"site", "key_path"} <= {*header}:
        raise CorpusError(f"{table}: expected columns site and key_path, separated by tabs")
    site, key_path = header.index("site"), header.index("key_path")
    return [
        (row[site], row[key_path] if key_path < len(row) else "")
        for row in rows
        if site < len(row) and row[site]
    ]

"""Sites in folders, with key pages that are labelled (the format of the TECO suite) or not.

Labels are taken off files as they are read: no code under test sees them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from w3lib.url import safe_url_string

from benchmarks.evaluation.labels import Labels, labels_of, read_labels, without_labels
from tplspider.search.cliques import MAX_REDIRECTS
from tplspider.sources.base import load_once
from tplspider.sources.folder import FolderSite
from tplspider.web.html import find_all, parse_html
from tplspider.web.page import (
    BAD_RESPONSE,
    NoPage,
    Redirect,
    WebPage,
    page_fault,
    redirect_to,
    status_reason,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from urllib.parse import SplitResult

    from tplspider.sources.base import SiteSource


class CorpusError(ValueError):
    """There is no corpus, or none that can be read."""


class LabelError(ValueError):
    """A site without a key page, or whose key page has no labels that could be used."""


def load_page(source: SiteSource, url: str) -> WebPage | NoPage:
    """The page at the end of the redirects from an address, or why there is none."""
    for _ in range(1 + MAX_REDIRECTS):
        answer = load_once(source, url)
        if isinstance(answer, NoPage):
            return answer
        if isinstance(answer, WebPage):
            fault = page_fault(answer)
            return NoPage(fault) if fault else answer
        url = answer.url
    return NoPage(BAD_RESPONSE)


class LabelledSite:
    """A site in a folder whose key page carries labels; only :meth:`labels` reads them.

    The key page is the one at *key_path* or, without it, the first page that carries labels.
    """

    def __init__(self, folder: Path, key_path: str = "") -> None:
        self.folder = folder
        self.pages = FolderSite(folder, without_labels)
        self._key_path = key_path

    @cached_property
    def key_url(self) -> str:
        """The address of the key page; "" if there is none. Looking for it may read every file."""
        if not self._key_path:
            url = self._labelled_page()
        else:
            url = safe_url_string(f"{self.pages.url}/{self._key_path.removeprefix('/')}")
        return _as_linked(self.pages, url)

    def key_page(self) -> WebPage:
        """The key page, without its labels."""
        if not self.folder.is_dir():
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
            content = file.read_bytes()
            if without_labels(content) != content:
                url = self.pages.address(file)
                return f"{url}index.html" if file.name == "index.html" else url
        return ""


def labelled_sites(corpus: Path) -> Iterator[LabelledSite]:
    """The sites of a corpus, in the order of its ``sites.tsv`` or, without one, by name."""
    if (corpus / "sites.tsv").is_file():
        rows = _table(corpus, "key_path")
    else:
        names = sorted(path.name for path in corpus.iterdir() if path.is_dir())
        rows = [{"site": name} for name in names if not name.startswith(".")]
    for row in rows:
        yield LabelledSite(corpus / row["site"], row.get("key_path", ""))


def _table(corpus: Path, column: str) -> list[dict[str, str]]:
    """The rows of ``sites.tsv`` that name a site; CorpusError if it cannot be read."""
    table = corpus / "sites.tsv"
    try:
        header, *rows = (line.split("\t") for line in table.read_text("utf-8-sig").split("\n"))
    except UnicodeDecodeError as error:
        raise CorpusError(f"{table} is not in UTF-8 ({error.reason})") from None
    except OSError as error:
        raise CorpusError(f"{table} cannot be read ({error.strerror})") from None
    if not {"site", column} <= {*header}:
        raise CorpusError(f"{table}: expected columns site and {column}, separated by tabs")
    found = (dict(zip(header, row, strict=False)) for row in rows)
    return [row for row in found if row.get("site", "").strip()]


def _as_linked(site: FolderSite, url: str) -> str:
    """Of the two addresses of an ``index.html``, the one that links on it look like.

    A key page that is named ``x/index.html`` where the site links to ``x/`` would be another page
    than the one that the links lead to.
    """
    if not url.endswith("/index.html"):
        return url
    directory = url.removesuffix("index.html")
    page = load_once(site, url)
    if not isinstance(page, WebPage) or page_fault(page):
        return directory
    links = [element.get("href") or "" for element in find_all(parse_html(page.text), "a")]
    paths = [re.split("[?#]", link)[0] for link in links]
    named = sum(path.endswith("index.html") for path in paths)
    return url if named > sum(path.endswith("/") for path in paths) else directory


class MirroredSite(FolderSite):
    """A site at the host and path that its pages name; an index may be an ``index.htm``."""

    def __init__(self, folder: Path, host: str = "", base_path: str = "") -> None:
        super().__init__(folder)
        base = base_path.strip("/")
        self._base = f"/{base}" if base else ""
        self.url = (f"http://{host}" if host else self.url) + self._base

    def _load(self, url: str) -> WebPage | Redirect | NoPage:
        parts = urlsplit(url)
        if not f"{parts.path}/".startswith(f"{self._base}/"):
            return NoPage(status_reason(404))
        path = parts.path.removeprefix(self._base)
        found = self._at(parts, path)
        if isinstance(found, NoPage):
            index = self._at(parts, f"{path.removesuffix('/')}/index.htm")
            found = index if isinstance(index, WebPage) else found
            if isinstance(index, WebPage) and not path.endswith("/"):
                found = redirect_to(url)
        if isinstance(found, WebPage):
            return replace(found, url=url)
        if isinstance(found, Redirect):  # to the directory
            return redirect_to(urlunsplit(parts._replace(path=f"{parts.path}/")))
        return found

    def _at(self, parts: SplitResult, path: str) -> WebPage | Redirect | NoPage:
        return super()._load(urlunsplit(parts._replace(path=path)))


@dataclass(frozen=True, slots=True)
class UnlabelledSite:
    """A site and its key pages; of each, whether the whole site tells what is its own."""

    name: str
    pages: MirroredSite
    keys: tuple[tuple[str, bool], ...]

    def key_page(self, path: str) -> WebPage:
        """The key page at an address inside the site."""
        if not self.pages.folder.is_dir():
            raise LabelError("there is no such folder")
        page = load_page(self.pages, self.address(path))
        if isinstance(page, NoPage):
            raise LabelError(f"there is no page at {self.address(path)} ({page.reason})")
        return page

    def address(self, path: str) -> str:
        """The address of a key page."""
        url = safe_url_string(f"{self.pages.url}/{path.removeprefix('/')}")
        return _as_linked(self.pages, url)


def unlabelled_sites(corpus: Path) -> list[UnlabelledSite]:
    """The sites of a corpus, in the order of its table; CorpusError if it cannot be read."""
    sites = []
    for row in _table(corpus, "key_pages"):
        host = row.get("absolute_host", "").split(",")[0].strip()
        base = row.get("base_path", "")
        pages = MirroredSite(corpus / row["site"], "" if host == "-" else host, base)
        paths = [path.strip() for path in row.get("key_pages", "").split(",")]
        sound = [word.strip() != "no" for word in row.get("silver", "").split(",")]
        sound += [True] * (len(paths) - len(sound))
        keys = tuple((path, sound[at]) for at, path in enumerate(paths) if path)
        sites.append(UnlabelledSite(row["site"], pages, keys))
    return sites

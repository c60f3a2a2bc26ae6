"""Websites as somebody saved them, with key pages that nobody has labelled.

A table, ``sites.tsv``, names them. Its columns are separated by tabs: ``site``, a folder;
``key_pages``, addresses in it, separated by commas. Others may be missing: ``silver``, yes or no
for each key page, whether the whole site tells its text from boilerplate; ``absolute_host``, the
hosts by which the site links to itself, and ``base_path``, where its root stands there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from w3lib.url import safe_url_string

from benchmarks.evaluation.labelled_site import CorpusError, LabelError
from tplspider.sources.base import load_page
from tplspider.sources.folder import FolderSite, is_folder
from tplspider.web.page import NoPage, Redirect, WebPage, redirect_to, status_reason

if TYPE_CHECKING:
    from pathlib import Path
    from urllib.parse import SplitResult


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
        if not is_folder(self.pages.folder):
            raise LabelError("there is no such folder")
        page = load_page(self.pages, self.address(path))
        if isinstance(page, NoPage):
            raise LabelError(f"there is no page at {self.address(path)} ({page.reason})")
        return page

    def address(self, path: str) -> str:
        """The address of a key page."""
        return safe_url_string(f"{self.pages.url}/{path.removeprefix('/')}")


def unlabelled_sites(corpus: Path) -> list[UnlabelledSite]:
    """The sites of a corpus, in the order of its table; CorpusError if that will not do."""
    table = corpus / "sites.tsv"
    try:
        lines = table.read_text("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise CorpusError(f"{table} is not in UTF-8 ({error.reason})") from None
    except OSError as error:
        raise CorpusError(f"{table} cannot be read ({error.strerror})") from None
    header, *rows = [line.split("\t") for line in lines] or [[]]
    if not {"site", "key_pages"} <= {*header}:
        raise CorpusError(f"{table}: expected columns site and key_pages, separated by tabs")
    return [
        _site(corpus, dict(zip(header, row, strict=False)))
        for row in rows
        if any(map(str.strip, row))
    ]


def _site(corpus: Path, row: dict[str, str]) -> UnlabelledSite:
    host = row.get("absolute_host", "").split(",")[0].strip()
    pages = MirroredSite(
        corpus / row["site"], "" if host == "-" else host, row.get("base_path", "")
    )
    paths = [path.strip() for path in row.get("key_pages", "").split(",")]
    sound = [word.strip() != "no" for word in row.get("silver", "").split(",")]
    sound += [True] * (len(paths) - len(sound))
    keys = tuple((path, sound[at]) for at, path in enumerate(paths) if path)
    return UnlabelledSite(row["site"], pages, keys)

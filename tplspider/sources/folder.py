"""A website as files in a folder."""

from __future__ import annotations

import os
from errno import ENOTDIR
from mimetypes import MimeTypes
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

from tplspider.web.page import NoPage, Redirect, WebPage, redirect_to, status_reason

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.resources.abc import Traversable


_TYPES = MimeTypes()  # Python's own list: that of the machine would make its pages those of others


def find_file(folder: Traversable, path: str) -> Traversable | None:
    """The file that the path of an address stands for, if there is one inside the folder."""
    names = [name for name in os.fsdecode(unquote_to_bytes(path)).split("/") if name]
    if any(name in (".", "..") for name in names):
        return None
    found = folder
    for name in names:
        found = found / name
    if path.endswith("/"):
        found = found / "index.html"
    try:
        return found if found.is_file() else None
    except (OSError, ValueError):  # no file can have such a name
        return None


class FolderSite:
    """The website whose document root is a folder; its host is the folder's name.

    *prepare* makes of the bytes of a file what the site gives. What was loaded is kept.
    """

    def __init__(self, folder: Path | str, prepare: Callable[[bytes], bytes] = bytes) -> None:
        self.folder = folder = Path(folder)
        self.url = f"http://{quote(os.fsencode(folder.name.lower()))}"
        self._prepare = prepare
        self._loaded: dict[str, WebPage | Redirect | NoPage] = {}

    def files(self) -> list[Path]:
        """The files that may be pages, by their names, in an order that is the same everywhere."""
        files = [file for file in self.folder.rglob("*") if file.is_file()]
        pages = [file for file in files if "html" in (_TYPES.guess_type(file.name)[0] or "html")]
        return sorted(pages, key=lambda file: file.relative_to(self.folder).parts)

    def address(self, file: Path) -> str:
        """The address of a file; that of its directory for an ``index.html``."""
        path = file.relative_to(self.folder).as_posix()
        if file.name == "index.html":
            path = path.removesuffix("index.html")
        return f"{self.url}/{quote(os.fsencode(path))}"

    def load(self, url: str) -> WebPage | Redirect | NoPage:
        """The file at an address, the address of a directory, or the reason why there is none.

        Raises NotADirectoryError where no such folder.
        """
        if not self._loaded and not self.folder.is_dir():
            raise NotADirectoryError(ENOTDIR, "no such folder", str(self.folder))
        if url not in self._loaded:
            try:
                self._loaded[url] = self._load(url)
            except ValueError:  # not an address, or not one that a file can have
                self._loaded[url] = NoPage(status_reason(404))
        return self._loaded[url]

    def _load(self, url: str) -> WebPage | Redirect | NoPage:
        path, query = urlsplit(url)[2:4]
        # Some mirrors keep the query in the file's name; of other files it chooses nothing.
        with_query = find_file(self.folder, f"{path}?{query}") if query else None
        file = with_query or find_file(self.folder, path)
        if file is None:
            if not path.endswith("/") and find_file(self.folder, f"{path}/"):
                return redirect_to(urljoin(url, f"{path}/"))
            return NoPage(status_reason(404))
        kind = _TYPES.guess_type(file.name)[0]
        headers = {"content-type": kind} if kind else {}
        return WebPage(url, self._prepare(file.read_bytes()), headers=headers)

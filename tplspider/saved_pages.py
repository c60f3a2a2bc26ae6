"""The pages of a search as they came: kept until it ends, and saved as files of a folder.

A manifest lists the pages of one run. It is written first, so it lists all files of ours whenever a
run is killed.
"""

from __future__ import annotations

import json
import logging
import os
import re
from dataclasses import dataclass
from io import SEEK_END
from itertools import count
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from tplspider.web.page import Page, WebPage

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import IO

logger = logging.getLogger(__name__)

MANIFEST = "manifest.json"
_PAGE = re.compile(r"(?:key|[1-9][0-9]*)\.html")
_SEARCH_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page as it came. *link* is the address that was requested, '' for the key page.

    Its *role* in the search is that of the key page, a member, an explored page, or a witness.
    """

    url: str
    link: str
    encoding: str
    body: bytes
    role: str = ""

    @property
    def html(self) -> str:
        """The page as the search read it."""
        return WebPage(self.url, self.body, given_encoding=self.encoding).text


class KeptPages:
    """The bodies of pages, in one temporary file without a name.

    The system removes it when the process ends.
    """

    def __init__(self) -> None:
        self.fault: OSError | None = None  # why a page could not be kept
        self._file: IO[bytes] | None = None  # made for the first page
        self._places: dict[Page, tuple[int, int, str]] = {}

    def keep(self, page: Page, source: WebPage) -> None:
        """Keep what *page* was read from, if it can be; a full disk costs the page alone."""
        body = source.body
        try:
            if self._file is None:
                self._file = TemporaryFile(buffering=0)  # noqa: SIM115 - closed by close()
            start = self._file.seek(0, SEEK_END)
            if self._file.write(body) < len(body):
                raise OSError("the disk is full")  # noqa: TRY301 - as the system's own
        except OSError as error:
            self.fault = error
            logger.warning("%s cannot be stored: %s", page.url, error)
            return
        self._places[page] = start, len(body), source.encoding

    def get(self, page: Page, link: str = "", role: str = "") -> KeptPage | None:
        """The page as it came, if it was kept."""
        if self._file is None or page not in self._places:
            return None
        start, size, encoding = self._places[page]
        self._file.seek(start)
        return KeptPage(page.url, link, encoding, self._file.read(size), role)

    def close(self) -> None:
        """Release all pages."""
        self._places.clear()
        if self._file is not None:
            self._file.close()
            self._file = None


def save_pages(folder: Path, pages: Iterable[KeptPage]) -> None:
    """Replace the pages of the last run. Raises OSError if it fails, or if a file is not ours."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        check_folder(folder)
    except ValueError as error:
        raise FileExistsError(str(error)) from None
    for name in _our_files(folder) - {MANIFEST}:
        (folder / name).unlink()
    number = count(1)
    files = {f"{next(number)}.html" if page.link else "key.html": page for page in pages}
    rows = [
        {
            "role": page.role,
            "url": page.url,
            **({"link": page.link} if page.link else {}),
            "encoding": page.encoding,
            "file": name,
        }
        for name, page in files.items()
    ]
    (folder / MANIFEST).write_text(json.dumps(rows, indent=2) + "\n", "ascii")
    for name, page in files.items():
        (folder / name).write_bytes(page.body)


def check_folder(folder: Path, *, many: bool = False) -> None:
    """Raise ValueError if a folder cannot be written to, or holds files that are not ours.

    With *many* key pages, it holds a folder for each search, named by its search_id.
    """
    place = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise ValueError("save_html: cannot write to this folder")
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if many:
        ours = {name for name in names if _SEARCH_ID.fullmatch(name) and (folder / name).is_dir()}
    else:
        ours = _our_files(folder)
    if foreign := sorted(names - ours, key=lambda name: (name != MANIFEST, name)):
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise ValueError(
            f"save_html: there are other files in this folder ({foreign[0]!r}{more}):"
            " give an empty one, or one that pages were saved in before"
        )


def _our_files(folder: Path) -> set[str]:
    """The manifest, and the pages that it lists; nothing if it is not one of ours."""
    try:
        # A run that was killed as it opened the file has left it empty.
        rows = json.loads((folder / MANIFEST).read_bytes() or b"[]")
        names = {row["file"] for row in rows if row["role"]}
        if not all(map(_PAGE.fullmatch, names)):
            return set()
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return set()
    files = [folder / name for name in (MANIFEST, *names)]
    return {path.name for path in files if path.is_file() and not path.is_symlink()}

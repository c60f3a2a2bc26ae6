"""Reports on searches as they end: one file, or a folder of pages with an index."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.report.files import ReportFolder, write_report
from tplspider.report.place import INDEX, check_file, check_folder, names_folder

if TYPE_CHECKING:
    from tplspider.items import CandidateSearch, PageTemplate

# The index of a long list takes time: it is written again after so many seconds, and after so many
# times as long as it took.
_AGE, _SHARE = 5.0, 20


class ReportWriter:
    """Writes a report for each search to *path*, which the user called *given*."""

    def __init__(self, given: str, path: Path) -> None:
        # Where links lead: a report replaces what is there.
        self._path = Path(os.path.realpath(path))
        self._is_folder = names_folder(given, self._path)
        self._folder: ReportFolder | None = None
        self._turn = asyncio.Lock()
        self._next_index = 0.0

    @property
    def page(self) -> Path:
        """The file to open in a browser."""
        return self._path / INDEX if self._is_folder else self._path

    @staticmethod
    def check(given: str, path: Path, *, many: bool) -> None:
        """Raise ValueError if reports cannot be written there; nothing is changed."""
        path = Path(os.path.realpath(path))
        is_folder = names_folder(given, path)
        if many and not is_folder:
            raise ValueError("many key pages need a folder for their reports, not a file")
        (check_folder if is_folder else check_file)(path)
        place = path if is_folder else path.parent
        place = next(each for each in (place, *place.parents) if each.exists())
        if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
            raise ValueError(f"cannot write to this {'folder' if is_folder else 'file'}")

    async def write(self, summary: CandidateSearch, text: PageTemplate | None) -> None:
        """Write the report of a search, again if it is there. Raises OSError if it cannot."""
        async with self._turn:
            await asyncio.to_thread(self._write, summary, text)

    async def close(self) -> None:
        """Write the index for the last time. Raises OSError if it cannot."""
        if self._is_folder:
            async with self._turn:
                await asyncio.to_thread(self._close)

    def _write(self, summary: CandidateSearch, text: PageTemplate | None) -> None:
        if not self._is_folder:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_report(self._path, summary, text)
            return
        self._open().add(summary, text)
        begun = time.monotonic()
        if begun >= self._next_index:
            self._open().write_index()
            ended = time.monotonic()
            self._next_index = ended + max(_AGE, _SHARE * (ended - begun))

    def _close(self) -> None:
        folder = self._open()
        try:
            folder.write_index()
        finally:
            folder.close()

    def _open(self) -> ReportFolder:
        if self._folder is None:
            self._folder = ReportFolder(self._path)
        return self._folder

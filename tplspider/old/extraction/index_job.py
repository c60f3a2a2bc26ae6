"""What workers do for the index of an archive: they read its files."""

from __future__ import annotations

import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_SECONDS = 10_000_000  # a file may be of any size
_OBJECTS = 20_000  # new ones until Python looks for those in circles: records are not


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Read a file for its index; what is found goes to *spool*."""

    path: Path
    spool: Path
    seconds: float = _SECONDS


@dataclass(frozen=True, slots=True)
class FileRead:
    """What there is to say of a file that was read: *about* it, and to people."""

    about: tuple[object, ...]
    lines: list[str]


@dataclass(frozen=True, slots=True)
class IndexWork:
    """Reads files for the index at that path."""

    index: Path
    cdxj: tuple[Path, ...] = ()

    def start(self) -> Callable[[ReadFile], FileRead | OSError]:
        """What reads one file after the other."""
        # Here and not above: what reads archives is an extra.
        from tplspider.sources.warc_index_spool import SpooledFile
        from tplspider.sources.warc_indexing import read_file

        gc.set_threshold(_OBJECTS)

        def do(job: ReadFile) -> FileRead | OSError:
            lines: list[str] = []
            try:
                with job.spool.open("wb") as spool:
                    added = SpooledFile(spool)
                    read_file(
                        added,
                        job.path,
                        self.index,
                        self.cdxj,
                        seen=lambda _: None,
                        tell=lines.append,
                    )
            except OSError as error:
                return error
            return FileRead(added.about, lines)

        return do

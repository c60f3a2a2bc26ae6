"""Where the archive of a crawl goes: a WARC file, compressed record by record."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.old.crawl.outputs.names import final_path
from tplspider.old.crawl.outputs.plan import Output
from tplspider.old.crawl.outputs.resumable import FeedFile, check_name

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]  # told from the module

if TYPE_CHECKING:
    from pathlib import Path

    from tplspider.old.crawl.outputs.plan import OutputNames

ENDING = ".warc.gz"


@dataclass(frozen=True)
class ArchivePlace:
    """The file of an archive; *label* is what a person calls it, *name* what was given."""

    label: str
    name: str
    path: Path

    @property
    def output(self) -> Output:
        """The file, as others are compared with it."""
        return Output(self.label, str(self.path), (self.path,), overwrite=True)

    def resumable(self, folder: str) -> FeedFile:
        """The file, as a journal knows it; ValueError if it cannot go on after a restart.

        *folder* is TPLSPIDER_FEEDS_DIR as it was given: the file may be in it.
        """
        check_name(f"{self.label} cannot go on after a restart (JOBDIR)", f"{folder}/{self.name}")
        return FeedFile(
            self.label,
            str(self.path),
            self.path,
            overwrite=True,
            is_csv=False,
            description="warc",
            is_mixed=True,
        )


def archive_place(names: OutputNames, given: str) -> ArchivePlace | None:
    """The place that the argument names; None without one. ValueError is for the user."""
    if not given:
        return None
    label = f"warc={given!r}"
    named = names.argument(label, given)
    if not named.name.lower().endswith(ENDING):
        raise ValueError(f"{label}: expected a file that ends in {ENDING}")
    path = final_path(named)
    if path.exists() and not path.is_file():
        raise ValueError(f"{label}: it is not a plain file")
    if path.exists() and os.access(path, os.R_OK):
        with path.open("rb") as file:
            try:
                claim(file.fileno())
            except OSError as error:
                raise ValueError(f"{label}: {error.strerror}") from None
    return ArchivePlace(label, given, path)


def claim(descriptor: int) -> None:
    """Have an archive for this crawl alone, until it is closed; OSError if another one has it."""
    if fcntl is None:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OSError(errno.EBUSY, "another crawl writes to it") from None
    except OSError:  # a file system without locks
        return

"""The archive that some files are, for people: made ready, with what is wrong with it told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.old.extraction import MEGABYTES
from tplspider.old.extraction.archive_indexing import reading_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from tplspider.old.crawl.strip.progress import StripProgress
    from tplspider.sources.warc_archive import Archive


def open_files(
    files: Iterable[Path],
    index: Path | None,
    cdxj: Iterable[Path],
    progress: StripProgress,
    *,
    workers: int = 1,
    megabytes: float = MEGABYTES,
) -> tuple[Archive, int]:
    """The archive of some files, its index made if need be, and what is wrong with them told.

    How many of them cannot be read at all, beside it; ValueError if that is all of them. One that
    is in order but has no capture, such as the log that wget adds, is told and does not count.
    Several files are read by several *workers*, if there is enough of them.
    """
    # Here and not above: what reads archives is an extra.
    from tplspider.sources.warc_archive import open_archive

    files = list(files)
    done: dict[Path, int] = {}

    def seen(path: Path, place: int) -> None:
        done[path] = place
        progress.show(sum(done.values()) // 1_000_000)

    def lost(error: OSError) -> None:
        faults.append(error)
        progress.tell(_told(error, files))

    faults: list[OSError] = []
    progress.begin("indexed", sum(file.stat().st_size for file in files) // 1_000_000, "MB")
    try:
        archive = open_archive(
            files,
            index,
            cdxj=cdxj,
            tell=progress.tell,
            seen=seen,
            reading=reading_by(workers, megabytes),
            lost=lost,
        )
    except OSError as error:
        raise ValueError(_told(error, files)) from None
    empty = 0
    for file in sorted(archive.files.values(), key=lambda each: each.path):
        if not file.records and not file.faults and _has_record(file.path):
            progress.tell(f"{file.path}: there is no page in it")
        elif not file.records:
            empty += 1
            progress.tell(f"{file.path}: it is not a WARC file, or nothing in it can be read")
        elif file.faults:
            told = ", ".join(f"{what}: {count}" for what, count in file.faults.items())
            progress.tell(f"{file.path}: {told} (all that can be read is used)")
    if empty == len(archive.files):
        raise ValueError("none of the files can be read as a WARC file")
    return archive, empty + len(faults)


def _told(error: OSError, files: Sequence[Path]) -> str:
    return f"{error.filename or files[0]}: {error.strerror or error}"


def _has_record(path: Path) -> bool:
    """Whether a file begins with a record, of whatever type."""
    from tplspider.sources.warc_records import read_at

    with path.open("rb") as file:
        return read_at(file, 0, 0) is not None

"""An archive that is asked for by its files: its index is made first, or brought up to date."""

from __future__ import annotations

import os
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.sources.warc import LARGEST, WarcSite
from tplspider.sources.warc_cdxj import is_marked_for
from tplspider.sources.warc_index import ANEW, IndexFileError, OldIndexError, WarcIndex
from tplspider.sources.warc_index_rows import adding
from tplspider.sources.warc_indexing import fits, read_file

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from tplspider.sources.warc_index import IndexedFile
    from tplspider.sources.warc_index_rows import Added

    Tell = Callable[[str], object]
    Seen = Callable[[Path, int], object]
    # Files in their order, each with what puts its captures where they belong, or raises OSError.
    Readings = Generator[tuple[Path, Callable[[Added], object]], None, None]
    # What makes them of paths, the path of the index, CDXJ files, *tell* and *seen*.
    Reading = Callable[[Sequence[Path], Path, Sequence[Path], Tell, Seen], Readings]

NAME = "tplspider.warc-index"  # of the index, beside the first of the files


@dataclass(frozen=True)
class Archive:
    """An index that is in step with these files, by their numbers in it."""

    index: Path
    files: dict[int, IndexedFile] = field(default_factory=dict)

    def open(self, largest: int = LARGEST) -> WarcSite:
        """The archive as a source of pages."""
        index = WarcIndex(self.index, read_only=True)
        return WarcSite(index, largest=largest, files=self.files)


def one_by_one(
    paths: Sequence[Path], index: Path, cdxj: Sequence[Path], tell: Tell, seen: Seen
) -> Readings:
    """Read files here and now, each when it is its turn."""
    for path in paths:
        read = partial(read_file, path=path, index=index, cdxj=cdxj)
        yield path, partial(read, tell=tell, seen=partial(seen, path))


def open_archive(
    files: Iterable[Path | str],
    index: Path | str | None = None,
    *,
    cdxj: Iterable[Path | str] = (),
    tell: Tell = lambda _: None,
    seen: Seen = lambda _path, _bytes: None,
    reading: Reading = one_by_one,
    lost: Callable[[OSError], object] | None = None,
) -> Archive:
    """The archive of some files. *tell* is given lines for people, *seen* how far a file is read.

    What *cdxj* files say of them need not be found out again. *reading* is how they are read.
    Raises ValueError, in one line, for an index that cannot be used, and OSError for a file, unless
    *lost* is there to hear of it: then the file is left out.
    """
    paths = list(dict.fromkeys(Path(os.path.realpath(file)) for file in files))
    if not paths:
        raise ValueError("no files")
    where = Path(index) if index else paths[0].parent / NAME
    others = [Path(each) for each in cdxj]

    def read(wanted: Sequence[Path]) -> Readings:
        return reading(wanted, where, others, tell, seen)

    bring = partial(_bring_up_to_date, where, paths, others, tell, read=read, lost=lost)
    try:
        return bring()
    except OldIndexError as error:
        tell(f"{str(error).removesuffix(ANEW)}: made anew")
        where.unlink()
        return bring()


def _bring_up_to_date(
    where: Path,
    paths: Sequence[Path],
    cdxj: Sequence[Path],
    tell: Tell,
    *,
    read: Callable[[Sequence[Path]], Readings],
    lost: Callable[[OSError], object] | None,
) -> Archive:
    """Index what is not in the index yet, or not as it is now."""
    with _open_index(where) as opened:
        known = {Path(os.path.realpath(file.path)): file for file in opened.files()}
        why = {path: _why_again(known[path], where, cdxj) for path in paths if path in known}
        wanted = [path for path in paths if why.get(path, "new")]
        missing: set[Path] = set()
        with closing(read(wanted)) as readings:
            for path, put_into in readings:
                if path in known:
                    tell(f"{path}: {why[path]}: indexed again")
                try:
                    with adding(opened, path) as added:
                        put_into(added)
                except OSError as error:
                    if lost is None:
                        raise
                    missing.add(path)
                    lost(error)
        there = set(paths) - missing
        files = {
            file.number: file
            for file in opened.files()
            if Path(os.path.realpath(file.path)) in there
        }
    return Archive(where.absolute(), files)


def _why_again(file: IndexedFile, index: Path, cdxj: Sequence[Path]) -> str:
    """Why a file is to be indexed again; "" if it is not."""
    if not fits(file, index):
        return "it is not as it was when it was indexed"
    if is_marked_for(file.cdxj, cdxj):
        return ""
    return "it was not indexed by this CDXJ" if cdxj else "it was indexed by CDXJ"


def _open_index(path: Path) -> WarcIndex:
    try:
        return WarcIndex(path)
    except OSError as error:
        raise IndexFileError(f"{path}: {error.strerror or error}") from None

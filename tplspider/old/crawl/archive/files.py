"""The WARC files that a command is given, checked before anything is read."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ENDINGS = (".warc", ".warc.gz", ".warc.zst")


def is_archive(name: str) -> bool:
    """Whether a file is a WARC by its name."""
    return name.lower().endswith(ENDINGS)


def check_extra() -> None:
    """Raise ValueError, in one line, where what reads archives is not installed."""
    try:
        import_module("tplspider.sources.warc_extra")
    except ImportError as error:
        raise ValueError(str(error)) from None


def cdxj_files(names: Iterable[str] | None) -> tuple[Path, ...]:
    """The CDXJ files that are given; ValueError, in one line, for one that will not do."""
    found = tuple(map(Path, names or ()))
    if found:
        check_extra()
    for path in found:
        from tplspider.sources.warc_cdxj import has_cdxj  # it needs an extra

        try:
            is_cdxj = has_cdxj(path)
        except OSError as error:
            raise ValueError(f"--cdxj {str(path)!r}: {error.strerror or error}") from None
        if not is_cdxj:
            raise ValueError(
                f"--cdxj {str(path)!r}: this is not CDXJ (lines of a key, a time and JSON)"
            )
    return found


def archive_files(names: Iterable[str]) -> tuple[Path, ...]:
    """The files that are meant, each once; of a folder, those in it by their names.

    Raises ValueError, in one line, for one that cannot be read.
    """
    found: list[Path] = []
    for name in names:
        try:
            found += _files_of(name)
        except OSError as error:
            named = error.filename or name
            raise ValueError(f"{named!r}: cannot be read ({error.strerror or error})") from None
    return tuple({os.path.realpath(path): path for path in found}.values())


def _files_of(name: str) -> list[Path]:
    path = Path(name)
    if not path.exists() and "://" in name:
        raise ValueError(
            f"{name!r}: expected WARC files; a key page is given by"
            " -i FILE, or by echo ADDRESS | scrapy archive FILE.warc.gz -i -"
        )
    found = [path]
    if path.is_dir():
        found = sorted(each for each in path.iterdir() if is_archive(each.name))
        if not found:
            raise ValueError(f"{name!r}: there is no WARC file in this folder")
    for each in found:
        if not each.exists():
            raise ValueError(f"{str(each)!r}: there is no such file")
        if not each.is_file():
            raise ValueError(f"{str(each)!r}: it is not a plain file")
        with each.open("rb"):
            pass  # it can be
    return found

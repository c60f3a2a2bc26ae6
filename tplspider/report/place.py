"""Where reports may go: a file, or a folder of ours.

Nothing here needs the engine that writes reports: a crawl asks before it begins.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path, PurePath

INDEX = "index.html"
ROWS = ".index.sqlite"  # what the index is made of
MARK = b'<meta name="generator" content="tplspider index">'

EXPECTED = "expected a file that ends in .html, or a folder"
_PAGES = (".html", ".htm")
_OURS = re.compile(
    r"(?:[0-9a-f]{16}|index)\.html|\.index\.sqlite(?:-journal)?"
    r"|\.(?:[0-9a-f]{16}|index)\.html\.[0-9a-f]{8}\.part"
)
_FILE_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,5}")
_HEAD = 2000  # bytes of an index in which its mark is


def names_folder(name: str, path: Path) -> bool:
    """Whether a name is that of a folder, and not of a file of HTML; ValueError for neither.

    *path* is where it leads. A name with the ending of another kind of file is a folder if there is
    one, or if it ends in a slash: who asks for x.pdf wants something else.
    """
    if not name or name.startswith("-"):
        raise ValueError(EXPECTED)
    if name.lower().endswith(_PAGES):
        return False
    ending = PurePath(name).suffix
    if _FILE_ENDING.fullmatch(ending) and not name.endswith("/") and not path.is_dir():
        raise ValueError(f"{EXPECTED} (if {ending} belongs to its name, end it with a slash)")
    return True


def check_file(path: Path) -> None:
    """Raise ValueError for a file that a report must not take the place of."""
    # It is written beside, and renamed: whatever is there now would be gone.
    if path.exists() and not path.is_file():
        raise ValueError("cannot write to this file (it is not a plain file)")
    if (path.parent / ROWS).exists():
        raise ValueError("its folder is one of reports with an index: give the file another")


def check_folder(folder: Path) -> None:
    """Raise ValueError for a folder that is not ours."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(EXPECTED)
    foreign = sorted(path.name for path in folder.iterdir() if not is_of_report_folder(path))
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise ValueError(
            f"there are other files in this folder ({foreign[0]!r}{more}):"
            " give an empty one, or one that reports were written to before"
        )
    if _is_in_use(folder / ROWS):
        raise ValueError("another crawl or report is writing to this folder")


def _is_in_use(rows: Path) -> bool:
    """Whether another process writes reports beside these rows, which has a lock on them."""
    if not rows.exists():
        return False
    address = f"{rows.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=0, isolation_level=None)) as file:
        try:
            file.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY
        file.execute("ROLLBACK")
    return False


def is_of_report_folder(path: Path) -> bool:
    """Whether a file is one of a folder of reports, by its name, and the index by its mark."""
    if not _OURS.fullmatch(path.name) or path.is_symlink() or not path.is_file():
        return False
    if path.name != INDEX:
        return True
    with path.open("rb") as file:
        return MARK in file.read(_HEAD)

"""Whether a local file or folder can be written, found out without changing anything."""

from __future__ import annotations

import errno
import os
import stat
import sys
from pathlib import Path
from tempfile import TemporaryFile
from typing import NoReturn

_TRIED = bytes(4096)  # what a folder must have space for


def try_file(path: Path, *, overwrite: bool) -> None:
    """Raise OSError if *path*, and the folders above it, cannot be made or written.

    Nothing is truncated, touched or left behind. It is opened where that has no effect, and a file
    without a name shows whether there is space.
    """
    try:
        found = path.stat()
    except FileNotFoundError:
        _try_new(Path(os.path.realpath(path)))
        return
    kind = found.st_mode
    if stat.S_ISDIR(kind):
        _fail(errno.EISDIR)
    if stat.S_ISSOCK(kind):
        _fail(errno.ENXIO)
    if stat.S_ISFIFO(kind):
        # Opening it would wait for its reader, and closing it would send the reader away.
        if not os.access(path, os.W_OK):
            _fail(errno.EACCES)
        return
    mode = os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
    opened = os.open(path, mode if overwrite else mode | os.O_APPEND)
    try:
        if stat.S_ISCHR(kind):
            os.write(opened, b"")  # nothing; but /dev/full says all the same that it is full
    finally:
        os.close(opened)
    if stat.S_ISREG(kind) and not (overwrite and found.st_size):  # it makes room for itself
        try:
            _try_space(path.parent)
        except PermissionError:
            return  # a file of ours in a folder of somebody else


def try_folder(path: Path) -> None:
    """Raise OSError if *path* is not a folder in which files can be made, and cannot be made."""
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except FileNotFoundError:
        _try_new(Path(os.path.realpath(path)))
        return
    if not is_folder:
        _fail(errno.ENOTDIR)
    _try_space(path)


def try_standard_output() -> None:
    """Raise OSError if nothing can be written to standard output."""
    if sys.stdout is None:
        _fail(errno.EBADF)
    try:
        number = sys.stdout.fileno()
    except (AttributeError, OSError, ValueError):
        return  # something of Python's own
    os.write(number, b"")


def whereabouts(path: Path) -> tuple[object, ...]:
    """What two names of one file have in common, hard links too, whether it exists or not."""
    try:
        found = path.stat()
    except OSError:
        return _missing(Path(os.path.realpath(path)))
    return found.st_dev, found.st_ino


def _missing(path: Path) -> tuple[object, ...]:
    """The nearest folder above *path* that exists, and the names that are missing there."""
    for folder in path.parents:
        try:
            found = folder.stat()
        except OSError:
            continue
        return found.st_dev, found.st_ino, *path.relative_to(folder).parts
    return (str(path),)


def _try_new(path: Path) -> None:
    for folder in path.parents:
        try:
            found = folder.stat()
        except FileNotFoundError:
            continue
        if not stat.S_ISDIR(found.st_mode):
            _fail(errno.ENOTDIR)
        longest = os.pathconf(folder, "PC_NAME_MAX") if hasattr(os, "pathconf") else 255
        if any(len(os.fsencode(name)) > longest for name in path.relative_to(folder).parts):
            _fail(errno.ENAMETOOLONG)
        _try_space(folder)
        return


def _try_space(folder: Path) -> None:
    # Python's temporary files have no name wherever the system can do that: not even the time of
    # the folder changes, and nothing would be left if we were killed now.
    with TemporaryFile(dir=folder, buffering=0) as file:
        written = file.write(_TRIED)
        if written < len(_TRIED):
            file.write(_TRIED[written:])  # says why


def _fail(number: int) -> NoReturn:
    raise OSError(number, os.strerror(number))

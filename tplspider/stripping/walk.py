"""All files of a folder and of those in it. Links are not followed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tplspider.stripping.manifest import MANIFEST, read_manifest
from tplspider.stripping.outcomes import LINK, SPECIAL, UNREADABLE
from tplspider.stripping.plain_file import file_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    from tplspider.stripping.listing import Listing

Inode = tuple[int, int]  # the device, and the number on it
_FOLDER = "folder"
_BATCH = 1000  # files of a folder that are added at a time


def list_files(
    folder: Path,
    listing: Listing,
    *,
    without: Collection[Inode] = (),
    seen: Callable[[int], object] = lambda _: None,
) -> None:
    """Add all files of *folder* to the listing, and what manifests say about them.

    *without* are files and folders that are left out: what is written meanwhile. *seen* is told
    how many there are so far. Raises OSError if the folder itself cannot be read; one inside it
    that cannot is listed as a file is.
    """
    count = 0
    with os.scandir(folder):
        pass
    listing.add_folder(b"")
    for path in listing.folders():
        found: list[tuple[bytes, str]] = []
        has_manifest = False
        try:
            with os.scandir(file_of(folder, path)) as entries:
                for entry in entries:
                    name = os.fsencode(entry.name)
                    inside = path + b"/" + name if path else name
                    if _is_one_of(entry, without):
                        continue
                    kind = _kind(entry)
                    if kind == _FOLDER:
                        listing.add_folder(inside)
                        continue
                    has_manifest |= name == MANIFEST
                    found.append((inside, kind))
                    if len(found) >= _BATCH:
                        count = _add(listing, found, count, seen)
        except OSError:
            found.append((path + b"/", UNREADABLE))
        count = _add(listing, found, count, seen)
        if has_manifest:
            listing.add_addresses(_addresses(folder, path))


def _add(
    listing: Listing,
    found: list[tuple[bytes, str]],
    count: int,
    seen: Callable[[int], object],
) -> int:
    listing.add(found)
    count += len(found)
    found.clear()
    seen(count)
    return count


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return LINK
        if entry.is_dir(follow_symlinks=False):
            return _FOLDER
        return "" if entry.is_file(follow_symlinks=False) else SPECIAL
    except OSError:
        return UNREADABLE


def _is_one_of(entry: os.DirEntry[str], inodes: Collection[Inode]) -> bool:
    """Whether an entry is one of these; the system is asked for few of them only."""
    if not any(number == entry.inode() for _, number in inodes):
        return False
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:
        return False
    return (found.st_dev, found.st_ino) in inodes


def _addresses(folder: Path, path: bytes) -> Iterator[tuple[bytes, str, str]]:
    inside = path + b"/" if path else b""
    is_used = False
    for name, url, encoding in read_manifest(file_of(folder, inside + MANIFEST)):
        is_used = True
        yield inside + name, url, encoding
    if is_used:
        yield inside + MANIFEST, "", ""  # it was never on the site

"""What is in a folder of saved pages, and what of it is ours: nothing else is ever touched.

Ours are the manifest, the pages that it lists, and what a run that was killed has left behind.
"""

from __future__ import annotations

import json
import re
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"

_PLAIN = re.compile(r"(?:key|[1-9][0-9]*)\.html")
# Names of files under way: nobody else uses such names.
_TEMPORARY = re.compile(r"tplspider-[0-9a-f]{8}-(?P<name>[a-z0-9-]+\.(?:html|json))")
_SEARCH_ID = re.compile(r"[0-9a-f]{16}")
_OLD_MANIFEST = "old-manifest.json"


def temporary_name(run: str, name: str) -> str:
    """The name under which a *run*, eight hexadecimal digits, writes a file first."""
    return f"tplspider-{run}-{name}"


def old_manifest_name(run: str) -> str:
    """The name of what a *run* notes of the set that it takes the place of."""
    return temporary_name(run, _OLD_MANIFEST)


ROLES = ("key", "member", "witness")


@dataclass(frozen=True)
class SavedFolder:
    """The names in a folder, by what they are to us."""

    manifest: list[dict[str, str]] | None = None  # None where there is no such file
    pages: set[str] = field(default_factory=set)  # plain names
    temporary: set[str] = field(default_factory=set)  # also of pages that are still under way
    foreign: list[str] = field(default_factory=list)

    @property
    def old_manifests(self) -> set[str]:
        return {name for name in self.temporary if name.endswith(f"-{_OLD_MANIFEST}")}


def read_folder(place: Path) -> SavedFolder:
    """Look through a folder; one that does not exist is empty. Links are not followed."""
    try:
        entries = {path.name: path for path in place.iterdir()}
    except FileNotFoundError:
        return SavedFolder()
    files = {name for name, path in entries.items() if is_plain_file(path)}
    temporary = {name for name in files if _TEMPORARY.fullmatch(name)}
    manifest = read_manifest(entries[MANIFEST]) if MANIFEST in files else None
    listed = {row["file"] for row in manifest or ()}
    for name in temporary:
        if name.endswith(f"-{_OLD_MANIFEST}"):
            listed |= {row["file"] for row in read_manifest(entries[name]) or ()}
    # A page that is listed under a temporary name may have its plain name already.
    listed |= {found["name"] for name in listed if (found := _TEMPORARY.fullmatch(name))}
    pages = {name for name in files & listed if _PLAIN.fullmatch(name)}
    ours = pages | temporary | ({MANIFEST} if manifest is not None else set())
    foreign = sorted(entries.keys() - ours, key=lambda name: (name != MANIFEST, name))
    return SavedFolder(manifest, pages, temporary, foreign)


def read_manifest(path: Path) -> list[dict[str, str]] | None:
    """The rows of a manifest; None if it is not one of ours, for instance one that names a path."""
    try:
        rows = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return rows if isinstance(rows, list) and all(map(_is_row, rows)) else None


def check_contents(label: str, place: Path, *, of_many: bool = False) -> None:
    """Raise ValueError, in one line, if *place* holds anything that is not ours.

    *of_many*: each of many searches has a folder in it that is named by its id.
    """
    if place.is_symlink() and not place.exists():
        raise ValueError(f"{label}: this is a link that leads nowhere")
    foreign = _not_of_searches(place) if of_many else read_folder(place).foreign
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise ValueError(
            f"{label}: there are other files in this folder ({foreign[0]!r}{more}):"
            " give an empty one, or one that pages were saved in before"
        )


def _not_of_searches(place: Path) -> list[str]:
    if not place.exists():
        return []
    return sorted(
        path.name
        for path in place.iterdir()
        if not (_SEARCH_ID.fullmatch(path.name) and path.is_dir() and not path.is_symlink())
    )


def is_plain_file(path: Path) -> bool:
    """Whether it is a file, and neither a folder nor a symbolic link."""
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _is_row(row: object) -> bool:
    if not isinstance(row, dict) or row.get("role") not in ROLES:
        return False
    name = row.get("file")
    return isinstance(name, str) and bool(_PLAIN.fullmatch(name) or _TEMPORARY.fullmatch(name))

"""The extension for browsers, written to a folder that a browser can load it from."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

MANIFEST = "manifest.json"
_DEFAULTS = "defaults.js"  # where the port is


def write_extension(folder: Path, port: int) -> None:
    """Write the extension for a server on *port*; ValueError, in one line, if it must not be there.

    The folder is a new or an empty one, or has our extension already, of whatever version. Other
    files in it stay as they are.
    """
    ours = _files(port)
    _check(folder, ours)
    folder.mkdir(parents=True, exist_ok=True)
    # The manifest first: if writing breaks off, the folder is known as ours the next time.
    for name in sorted(ours, key=lambda name: name != MANIFEST):
        part = folder / f".{name}.part"
        part.unlink(missing_ok=True)  # it may be a link, which leads elsewhere
        try:
            with part.open("xb") as file:
                file.write(ours[name])
            part.replace(folder / name)
        except OSError:
            part.unlink(missing_ok=True)
            raise


def bookmarklet(port: int) -> str:
    """The address of a bookmark that opens our form with the page's address; it has no token."""
    address = f'"http://127.0.0.1:{port}/?url="+encodeURIComponent(location.href)'
    return f'javascript:void open({address},"_blank","noopener")'


def _files(port: int) -> dict[str, bytes]:
    """What is to be written, by the names of the files."""
    found = {
        file.name: file.read_bytes()
        for file in (files("tplspider.plugins.ui") / "extension").iterdir()
    }
    text = found[_DEFAULTS].decode()
    found[_DEFAULTS] = re.sub(r"(?<=PORT = )\d+", str(port), text).encode()
    return found


def _check(folder: Path, ours: dict[str, bytes]) -> None:
    """Raise ValueError for a folder with files of somebody else's."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ValueError(f"{folder}: expected a folder")
    if not any(folder.iterdir()):
        return
    if _id_of(folder / MANIFEST) != _id(ours[MANIFEST]):
        raise ValueError(
            f"{folder}: there are other files in this folder: give an empty one, or one that the"
            " extension was written to before"
        )
    for name in ours:
        path = folder / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise ValueError(f"{path}: it is not a plain file")


def _id_of(manifest: Path) -> object:
    """By which extension a manifest is; None if it is not one."""
    if manifest.is_symlink() or not manifest.is_file():
        return None
    return _id(manifest.read_bytes())


def _id(manifest: bytes) -> object:
    try:
        return json.loads(manifest)["browser_specific_settings"]["gecko"]["id"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return None

"""Pages as files of a folder, with a manifest that tells what each is.

Whatever happens, and whenever, the manifest lists files that are there, all of one run: the last
one, or the one before it. To that end the pages of a run, ``key.html`` and so on, which cannot take
the places of the last ones all at once, have temporary names for a moment:

1. the pages are written under temporary names;
2. what is now the manifest is noted, and one that lists the temporary names takes its place;
3. the pages of the last run go, and the new ones get their plain names in addition;
4. a manifest that lists the plain names takes its place, and the temporary names go.

A run that is killed leaves files that the next one recognizes and clears away (``saved_folder``).
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.old.crawl.outputs.saved_folder import (
    MANIFEST,
    is_plain_file,
    old_manifest_name,
    read_folder,
    temporary_name,
)

try:
    import fcntl
except ImportError:  # pragma: no cover - not on Windows
    fcntl = None  # type: ignore[assignment]  # told from the module

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tplspider.sources.kept_pages import KeptPage


def save_html(folder: str, pages: Iterable[KeptPage]) -> None:
    """Write each page as it came, in the place of those of the last run; OSError if it fails."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    with _nobody_else(place):
        before = read_folder(place)
        if MANIFEST in before.foreign:  # since the crawl began
            raise FileExistsError(f"the {MANIFEST} in it is not ours")
        run = secrets.token_hex(4)
        try:
            rows = [
                _write_page(place, temporary_name(run, name), page, name)
                for name, page in _names(pages)
            ]
            if before.manifest is not None:
                _write(place / old_manifest_name(run), _json(before.manifest))
            _replace_manifest(place, run, [{**row, "file": row["temporary"]} for row in rows])
        except Exception:
            _remove(place, {path.name for path in place.glob(f"{temporary_name(run, '')}*")})
            raise
        # From here on it is the new set. Notes of what is to go go last.
        _remove(place, before.pages)
        _remove(place, before.temporary - before.old_manifests)
        _remove(place, {*before.old_manifests, old_manifest_name(run)})
        for row in rows:
            _name_again(place / row["temporary"], place / row["file"])
        _replace_manifest(place, run, rows)
        _remove(place, {row["temporary"] for row in rows})


def _names(pages: Iterable[KeptPage]) -> Iterator[tuple[str, KeptPage]]:
    number = 0
    for page in pages:
        number += bool(page.link)
        yield (f"{number}.html" if page.link else "key.html"), page


def _write_page(place: Path, temporary: str, page: KeptPage, name: str) -> dict[str, str]:
    _write(place / temporary, page.body)
    row = {"role": page.role, "url": page.url}
    if page.link:
        row["link"] = page.link
    return row | {"encoding": page.encoding, "file": name, "temporary": temporary}


def _replace_manifest(place: Path, run: str, rows: list[dict[str, str]]) -> None:
    written = place / temporary_name(run, MANIFEST)
    shown = [{name: row[name] for name in row if name != "temporary"} for row in rows]
    _write(written, _json(shown))
    written.replace(place / MANIFEST)


def _json(rows: list[dict[str, str]]) -> bytes:
    return (json.dumps(rows, indent=2) + "\n").encode()


def _write(path: Path, data: bytes) -> None:
    with path.open("xb") as file:
        file.write(data)


def _name_again(path: Path, name: Path) -> None:
    """Give a file a second name; a copy where the file system has no such names."""
    try:
        os.link(path, name)  # fails where there is something of this name, a link too
    except FileExistsError:
        raise
    except OSError:
        with path.open("rb") as source, name.open("xb") as copy:
            shutil.copyfileobj(source, copy)


def _remove(place: Path, names: Iterable[str]) -> None:
    """Remove files of this folder; never a folder, nor a link."""
    for name in names:
        if is_plain_file(place / name):
            (place / name).unlink(missing_ok=True)


@contextmanager
def _nobody_else(place: Path) -> Iterator[None]:
    """Keep other crawls out of the folder for as long as it is written to."""
    if fcntl is None:  # pragma: no cover - not on Windows
        yield
        return
    opened = os.open(place, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise OSError("another crawl is writing there") from None
        except OSError:
            pass  # a file system without locks
        yield
    finally:
        os.close(opened)

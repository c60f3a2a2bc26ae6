"""Pages as files of a folder, with a manifest that tells what each is."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tplspider.kept_pages import KeptPage

MANIFEST = "manifest.json"


def check_folder(folder: str) -> None:
    """Make the folder if it is missing; ValueError, in one line, if nothing can be written there.

    '' is no folder, and fine.
    """
    if not folder:
        return
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except (OSError, ValueError) as error:  # a name that is none is a ValueError
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"save_html={folder!r}: cannot write to this folder ({why})") from None


def save_html(folder: str, pages: Iterable[KeptPage]) -> None:
    """Write each page as it came, and the manifest last: where there is one, it is right."""
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / MANIFEST).unlink(missing_ok=True)
    rows = []
    number = 0
    for page in pages:
        row = {"role": "member" if page.link else "key", "url": page.url}
        name = "key"
        if page.link:
            number += 1
            name = str(number)
            row["link"] = page.link
        row |= {"encoding": page.encoding, "file": f"{name}.html"}
        (place / row["file"]).write_bytes(page.body)
        rows.append(row)
    (place / MANIFEST).write_text(json.dumps(rows, indent=2) + "\n", "utf-8")

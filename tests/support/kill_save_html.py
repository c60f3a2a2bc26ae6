"""Kills the saving of pages between any two calls of the system, and looks at what is left.

``python -m tests.support.kill_save_html FOLDER`` prints how many kills it survived;
test_save_html.py runs it.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
from pathlib import Path
from typing import Any

from tplspider.old.crawl.outputs.save_html import save_html
from tplspider.old.crawl.outputs.saved_folder import check_contents
from tplspider.sources.kept_pages import KeptPage

KILLED = 9
CHANGES = {"open", "write", "__exit__", "close", "link", "rename", "replace", "unlink", "mkdir"}


def pages_of(run: str, members: int) -> list[KeptPage]:
    """The pages of a run, whose bodies tell which one it is."""
    links = ["", *(f"http://x/{run}/{number}" for number in range(1, members + 1))]
    return [
        KeptPage(
            f"http://x/{link}",
            link,
            "utf-8",
            f"{run} {link}".encode(),
            "member" if link else "key",
        )
        for link in links
    ]


def save_and_die(folder: Path, pages: list[KeptPage], moment: int) -> bool:
    """Save in a process of its own that dies at that moment; False if it had ended by then."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED
    passed = 0

    def count(_frame: Any, event: str, called: Any) -> None:
        nonlocal passed
        # Before and after whatever changes something.
        if event in ("c_call", "c_return") and called.__name__ in CHANGES:
            passed += 1
            if passed == moment:
                os._exit(KILLED)

    sys.setprofile(count)
    save_html(str(folder), pages)
    os._exit(0)


def set_in(folder: Path) -> list[bytes] | None:
    """The bodies of the pages that the manifest lists; None where there is no manifest."""
    manifest = folder / "manifest.json"
    if not manifest.exists():
        return None
    return [(folder / row["file"]).read_bytes() for row in json.loads(manifest.read_bytes())]


def bodies(pages: list[KeptPage]) -> list[bytes]:
    return [page.body for page in pages]


def check_next_run(folder: Path) -> None:
    """Whatever was left, the next run takes the folder, and leaves its own set alone."""
    check_contents("save_html", folder)
    last = pages_of("last", 2)
    save_html(str(folder), last)
    assert set_in(folder) == bodies(last)
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["1.html", "2.html", "key.html", "manifest.json"], names


def main(place: Path) -> int:
    """Kill at every moment, over a set of pages and over nothing; then twice in a row."""
    old, new, newer = pages_of("old", 4), pages_of("new", 1), pages_of("newer", 3)
    full, empty, folder = place / "full", place / "empty", place / "folder"
    save_html(str(full), old)
    empty.mkdir()
    kills = []
    for start, before in ((full, bodies(old)), (empty, None)):
        moment = killed = 1
        seen = set()
        while killed:
            shutil.copytree(start, folder)
            killed = save_and_die(folder, new, moment)
            found = set_in(folder)
            assert found in (before, bodies(new)), (moment, found)
            seen.add(found == before)
            check_next_run(folder)
            shutil.rmtree(folder)
            moment += 1
        assert seen == {True, False}
        kills.append(moment - 2)
    chosen = random.Random(10)
    for _ in range(40):
        shutil.copytree(full, folder)
        save_and_die(folder, new, chosen.randrange(1, kills[0]))
        first = set_in(folder)
        assert first in (bodies(old), bodies(new))
        check_contents("save_html", folder)
        save_and_die(folder, newer, chosen.randrange(1, kills[0]))
        assert set_in(folder) in (first, bodies(newer))
        check_next_run(folder)
        shutil.rmtree(folder)
    return sum(kills)


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))

"""Pages as files: byte for byte, a manifest that can be trusted, and nothing of others touched."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tplspider.saved_pages import KeptPage, check_folder, save_pages, write_page

if TYPE_CHECKING:
    from pathlib import Path

CHANGES = {"open", "write", "__exit__", "close", "rename", "replace", "unlink", "mkdir"}


def pages_of(run: str, members: int) -> list[KeptPage]:
    links = ["", *(f"http://x/{run}/{number}" for number in range(1, members + 1))]
    return [
        KeptPage(f"http://y/{link}", link, "utf-8", f"{run} {link}".encode(), role)
        for link, role in zip(links, ["key", *["member"] * members], strict=True)
    ]


def saved_in(folder: Path) -> list[bytes] | None:
    if not (folder / "manifest.json").exists():
        return None
    rows = json.loads((folder / "manifest.json").read_bytes())
    return [(folder / row["file"]).read_bytes() for row in rows]


def test_pages_replace_those_of_the_last_run(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "html"
    for members in (3, 1, 0):
        check_folder(folder)
        pages = pages_of("x", members)
        save_pages(folder, pages)
        names = sorted(path.name for path in folder.iterdir())
        assert names == [*(f"{n + 1}.html" for n in range(members)), "key.html", "manifest.json"]
        assert saved_in(folder) == [page.body for page in pages]
    (key,) = json.loads((folder / "manifest.json").read_bytes())
    assert key == {"role": "key", "url": "http://y/", "encoding": "utf-8", "file": "key.html"}
    save_pages(folder, pages_of("x", 1)[1:])
    (row,) = json.loads((folder / "manifest.json").read_bytes())
    assert [*row] == ["role", "url", "link", "encoding", "file"]
    assert (row["link"], row["file"]) == ("http://x/x/1", "1.html")


def save_and_die(folder: Path, pages: list[KeptPage], moment: int) -> bool:
    """Save in a process that dies at that moment; False if it had ended by then."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    passed = 0

    def count(_frame: Any, event: str, called: Any) -> None:
        nonlocal passed
        if event in ("c_call", "c_return") and called.__name__ in CHANGES:
            passed += 1
            if passed == moment:
                os._exit(9)

    sys.setprofile(count)
    save_pages(folder, pages)
    os._exit(0)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # with threads of pytest
def test_a_kill_at_any_moment(tmp_path: Path) -> None:
    before, folder = tmp_path / "before", tmp_path / "folder"
    old, new, last = pages_of("old", 3), pages_of("new", 2), pages_of("last", 1)
    save_pages(before, old)
    seen, moment, killed = set(), 0, True
    while killed:
        moment += 1
        shutil.copytree(before, folder)
        killed = save_and_die(folder, new, moment)
        found = saved_in(folder)
        assert found in (None, [page.body for page in old], [page.body for page in new])
        seen.add(str(found))
        check_folder(folder)
        save_and_die(folder, last, moment % 17)  # and again
        assert saved_in(folder) in (found, None, [page.body for page in last])
        check_folder(folder)
        save_pages(folder, last)
        assert saved_in(folder) == [page.body for page in last]
        assert len([*folder.iterdir()]) == 3
        shutil.rmtree(folder)
    assert len(seen) == 3
    assert moment > 20


@pytest.mark.parametrize("case", ["notes.txt", "7.html", "link", "no manifest", "theirs", "path"])
def test_what_is_not_ours_is_refused(tmp_path: Path, case: str) -> None:
    folder, victim = tmp_path / "html", tmp_path / "victim.html"
    victim.write_text("theirs")
    save_pages(folder, pages_of("x", 0))
    match case:
        case "link":
            (folder / "key.html").unlink()
            (folder / "key.html").symlink_to(victim)
        case "no manifest":
            (folder / "manifest.json").unlink()
        case "theirs":
            (folder / "manifest.json").write_text('{"name": "an extension"}')
        case "path":
            row = {"role": "key", "file": "../victim.html"}
            (folder / "manifest.json").write_text(json.dumps([row]))
        case _:
            (folder / case).write_text("theirs")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ValueError, match=r"^there are other files in this folder [^\n]+$"):
        check_folder(folder)
    with pytest.raises(FileExistsError):
        save_pages(folder, pages_of("y", 7))
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert victim.read_text() == "theirs"


def test_a_folder_for_each_search(tmp_path: Path) -> None:
    save_pages(tmp_path / ("0" * 16), pages_of("x", 1))
    check_folder(tmp_path, many=True)
    with pytest.raises(ValueError, match="other files"):
        check_folder(tmp_path)
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
        with pytest.raises(ValueError, match="cannot write to this folder"):
            check_folder(folder)


@pytest.mark.parametrize("path", ["a/" * 1500, "!/" * 900, "/" * 600, "x" * 5000])
def test_long_addresses_have_short_names(path: str, tmp_path: Path) -> None:
    row = {"url": f"http://example.org/{path}", "title": "", "path": "", "main_markdown": "Text."}
    write_page(tmp_path, row)
    (written,) = tmp_path.rglob("*.md")
    assert written.read_text("utf-8").endswith("\nText.\n")


def test_a_file_and_a_folder_of_one_name(tmp_path: Path) -> None:
    for url in ("http://example.org/readme", "http://example.org/readme.md/"):
        write_page(tmp_path, {"url": url, "title": "", "path": "", "main_markdown": ""})
    assert len([*tmp_path.rglob("*.md")]) == 2

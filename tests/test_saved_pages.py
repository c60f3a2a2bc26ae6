"""Pages as files: byte for byte, a manifest that can be trusted, and nothing of others touched."""

import json
from pathlib import Path

import pytest

from tplspider.saved_pages import KeptPage, check_folder, save_pages


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


def test_what_a_killed_run_has_left_is_ours(tmp_path: Path) -> None:
    """Pages without their names, and a manifest that lists more pages than there are."""
    save_pages(tmp_path, pages_of("old", 3))
    (tmp_path / "2.html").unlink()
    (tmp_path / ".tplspider-1.html").write_text("half of a pa")
    check_folder(tmp_path)
    save_pages(tmp_path, pages_of("new", 1))
    assert saved_in(tmp_path) == [page.body for page in pages_of("new", 1)]
    assert len([*tmp_path.iterdir()]) == 3


@pytest.mark.parametrize("case", ["7.html", "link", "no manifest", "path"])
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

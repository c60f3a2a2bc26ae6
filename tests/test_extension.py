"""The extension as files: what it may do, and how it is written out."""

from __future__ import annotations

import json
import re
from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from PIL import Image

import tplspider
from tests.support.crawls import PROJECT
from tplspider.plugins.ui.button import bookmarklet, write_extension
from tplspider.plugins.ui.server import PORT

if TYPE_CHECKING:
    from pathlib import Path

FOLDER = PROJECT / "tplspider" / "plugins" / "ui" / "extension"
MANIFEST = json.loads((FOLDER / "manifest.json").read_bytes())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_it_may_do() -> None:
    assert MANIFEST["manifest_version"] == 3
    assert MANIFEST["version"] == tplspider.__version__
    assert MANIFEST["permissions"] == ["activeTab", "storage"]
    assert MANIFEST["host_permissions"] == ["http://127.0.0.1/*"]
    assert not {"background", "content_scripts", "web_accessible_resources"} & {*MANIFEST}
    gecko = MANIFEST["browser_specific_settings"]["gecko"]
    assert gecko["data_collection_permissions"] == {"required": ["none"]}
    policy = MANIFEST["content_security_policy"]["extension_pages"].split("; ")
    assert {"default-src 'none'", "script-src 'self'", "connect-src http://127.0.0.1:*"} <= {
        *policy
    }


def test_what_is_shown_is_text() -> None:
    """A site's titles are never parsed as HTML."""
    for path in FOLDER.glob("*.js"):
        script = path.read_text("utf-8")
        assert not re.search(r"HTML|\beval\b|\bFunction\b|document\.write|setAttribute", script)


def test_icons_are_of_the_sizes_that_they_are_for() -> None:
    for size, name in (MANIFEST["icons"] | MANIFEST["action"]["default_icon"]).items():
        data = (FOLDER / name).read_bytes()
        assert Image.open(BytesIO(data)).size == (int(size), int(size))
        assert len(data) < 2000


def test_it_is_written_for_a_port(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    write_extension(folder, PORT)
    assert contents(folder) == contents(FOLDER)
    # Once more, for another port and over an older version; what else is there stays.
    (folder / "popup.js").write_text("old")
    (folder / "notes.txt").write_text("mine")
    write_extension(folder, 9000)
    written = contents(folder)
    assert written.pop("notes.txt") == b"mine"
    assert b"PORT = 9000;" in written.pop("defaults.js")
    assert written.items() <= contents(FOLDER).items()


@pytest.mark.parametrize("name", ["notes.txt", "manifest.json", "popup.js"])
def test_files_of_others_are_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"name": "another"}')
    with pytest.raises(ValueError, match="there are other files"):
        write_extension(tmp_path, PORT)
    assert contents(tmp_path) == {name: b'{"name": "another"}'}


def test_links_are_not_followed(tmp_path: Path) -> None:
    """Writing must not reach what lies elsewhere."""
    folder, other = tmp_path / "folder", tmp_path / "other.js"
    write_extension(folder, PORT)
    other.write_text("mine")
    (folder / "popup.js").unlink()
    (folder / "popup.js").symlink_to(other)
    write_extension(folder, PORT)
    assert other.read_text() == "mine"
    assert not (folder / "popup.js").is_symlink()
    with pytest.raises(ValueError, match="expected a folder"):
        write_extension(other, PORT)
    (folder / "manifest.json").write_text("[" * 200_000)
    with pytest.raises(ValueError, match="other files"):
        write_extension(folder, PORT)


def test_the_bookmarklet() -> None:
    """It opens the form, and knows no token; the docs have it."""
    text = bookmarklet(PORT)
    assert text.startswith(f'javascript:void open("http://127.0.0.1:{PORT}/?url="+encodeURI')
    assert f"\n    {text}\n" in (PROJECT / "docs" / "ui.md").read_text("utf-8")

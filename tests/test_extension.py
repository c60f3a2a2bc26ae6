"""The extension as files: what it may do, and how it is written out."""

import json
import re
from pathlib import Path

import pytest

import tplspider
from tests.support.crawls import PROJECT
from tplspider.plugins.ui.server import write_extension

FOLDER = PROJECT / "tplspider" / "plugins" / "ui" / "extension"
MANIFEST = json.loads((FOLDER / "manifest.json").read_bytes())


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_it_may_do() -> None:
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
    for path in FOLDER.glob("*.js"):  # a site's titles are never parsed as HTML
        script = path.read_text("utf-8")
        assert not re.search(r"HTML|\beval\b|\bFunction\b|document\.write|setAttribute", script)


def test_it_is_written_to_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b"
    write_extension(folder)
    assert contents(folder) == contents(FOLDER)
    # Once more, over an older version; what else is there stays.
    (folder / "popup.js").write_text("old")
    (folder / "notes.txt").write_text("mine")
    write_extension(folder)
    written = contents(folder)
    assert written.pop("notes.txt") == b"mine"
    assert written == contents(FOLDER)


@pytest.mark.parametrize("name", ["notes.txt", "manifest.json"])
def test_files_of_others_are_left_alone(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text('{"name": "another"}')
    with pytest.raises(ValueError, match="other files"):
        write_extension(tmp_path)
    assert contents(tmp_path) == {name: b'{"name": "another"}'}

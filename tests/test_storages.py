"""Folders and archives as what a crawl reads in place of a network."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from tplspider.sources.saved_folder import LINK, SPECIAL, SavedFolder
from tplspider.web.page import NoPage, WebPage

if TYPE_CHECKING:
    from pathlib import Path


def save(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def test_every_file_of_a_folder_is_there_once(tmp_path: Path) -> None:
    folder = save(
        tmp_path / "site", www_a_example__index_html="<html>a", www_a_example__b_html="<html>b",
        www_a_example__c_png="\0", saved__key_html="<html>k",
        saved__manifest_json=json.dumps([{"file": "key.html", "url": "http://me:x@k.example/"}]),
    )  # fmt: skip
    (folder / "link").symlink_to("/etc/passwd")
    (folder / "links").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
    pages = SavedFolder(folder)
    found = {page.path.decode(): page for page in pages.pages()}
    assert len(found) == pages.count_pages() == 8
    assert {page.site for page in pages.pages()} == {"", "a.example", "k.example", "site"}
    faults = {name: page.read() for name, page in found.items() if page.fault}
    assert faults == {"link": NoPage(LINK), "links": NoPage(LINK), "pipe": NoPage(SPECIAL)}
    assert found["saved/key.html"].url == "http://k.example/"
    page = found["www.a.example/index.html"].read()
    assert isinstance(page, WebPage)
    assert (page.url, page.text) == ("http://www.a.example/", "<html>a")
    other = SavedFolder(folder / "saved", "https://b.example/x")
    assert {page.url for page in other.pages()} == {"http://k.example/", ""}

"""Folders and archives as what a crawl reads in place of a network."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from tests.support.crawls import SITES, run_scrapy
from tplspider.sources.saved_folder import LINK, SPECIAL, UNREADABLE, SavedFolder
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
    with SavedFolder(folder) as pages:
        assert [*pages.sites()] == ["", "a.example", "k.example", "site"]
        found = {page.path.decode(): page for page in pages.pages()}
        assert len(found) == pages.count_pages() == 8
        faults = {name: page.read() for name, page in found.items() if page.fault}
        assert faults == {"link": NoPage(LINK), "links": NoPage(LINK), "pipe": NoPage(SPECIAL)}
        assert found["saved/key.html"].url == "http://k.example/"
        page = pages.load("http://www.a.example/")
        assert isinstance(page, WebPage)
        assert page.text == "<html>a"
        assert pages.is_absent("http://www.a.example/none")
    with SavedFolder(folder / "saved", "https://b.example/x") as pages:
        assert {page.url for page in pages.pages()} == {"http://k.example/", ""}


def test_a_folder_that_becomes_a_link_is_not_opened(tmp_path: Path) -> None:
    folder = save(tmp_path / "site", inner__a_html="<html>a")
    secret = save(tmp_path / "secret", a_html="<html>secret")
    with SavedFolder(folder) as pages:
        (page,) = pages.pages()
        (folder / "inner").rename(tmp_path / "away")
        (folder / "inner").symlink_to(secret)
        found = page.read()
        assert isinstance(found, NoPage)
        assert found.reason in (LINK, UNREADABLE)


def test_a_crawl_whose_pages_are_files(tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    done = run_scrapy(
        *("crawl", "template_candidates", "-aurl=http://menu/docs/guide/one.html", f"-O{out}"),
        folder=tmp_path,
        settings={
            "HTTPCACHE_ENABLED": "1",
            "HTTPCACHE_IGNORE_MISSING": "1",
            "HTTPCACHE_STORAGE": "tplspider.storages.FolderStorage",
            "TPLSPIDER_FOLDER": str(SITES / "menu"),
            "ROBOTSTXT_OBEY": "0",
        },
    )
    assert done.code == 0, done.log
    assert len(json.loads(out.read_text())) == 3

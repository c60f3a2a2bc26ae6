import json
import os
from pathlib import Path

import pytest

from tests.support.template_site import save, save_site, saved_files, texts
from tplspider.sources.saved_folder import (
    LINK,
    SPECIAL,
    FileAddresses,
    SavedFolder,
    mirrored_address,
)
from tplspider.web.page import NoPage, WebPage

MIRRORED = (
    "<html>\n<!-- Mirrored from {} by HTTrack Website Copier/3.x [XR&CO'2014],"
    " Mon, 01 Jan 2024 10:00:00 GMT -->\n"
)


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("a/b.html", "http://my%20site/a/b.html"),
        ("a/index.html", "http://my%20site/a/"),
        ("index.html", "http://my%20site/"),
        ("a/index.htm", "http://my%20site/a/index.htm"),
        ("www.example.org/a.html", "https://www.example.org/a.html"),
        ("WWW.Example.org/index.html", "https://www.example.org/"),
        ("example.co.uk:443/a.html", "https://example.co.uk/a.html"),
        ("example.org:80/a.html", "http://example.org/a.html"),
        ("example.org:8080/a.html", "http://example.org:8080/a.html"),
        ("127.0.0.1:8000/a.html", "http://127.0.0.1:8000/a.html"),
        ("127.0.0.1_8000/a.html", "http://127.0.0.1:8000/a.html"),
        ("localhost+8000/a.html", "http://localhost:8000/a.html"),
        ("shop.test/a.html", "http://shop.test/a.html"),
        ("wiki:8080/a.html", "http://wiki:8080/a.html"),
        # Not hosts.
        ("v1.2/a.html", "http://my%20site/v1.2/a.html"),
        ("example.org:99999/a.html", "http://my%20site/example.org:99999/a.html"),
        ("chapter:12/a.html", "http://my%20site/chapter:12/a.html"),
        ("http/example.org/a.html", "http://my%20site/http/example.org/a.html"),
        ("example.org", "http://my%20site/example.org"),
        ("a b.org/a.html", "http://my%20site/a%20b.org/a.html"),
        # Queries, as mirrors write them into names.
        ("a.php?id=3", "http://my%20site/a.php?id=3"),
        ("a.php?id=3.html", "http://my%20site/a.php?id=3"),
        ("a.php%3Fid=3", "http://my%20site/a.php?id=3"),
        ("a.php@id=3&x=4", "http://my%20site/a.php?id=3&x=4"),
        ("index.html@p=3", "http://my%20site/?p=3"),
        ("a/index.html?p=3", "http://my%20site/a/?p=3"),
        ("me@home.html", "http://my%20site/me@home.html"),
        ("100%.html", "http://my%20site/100%25.html"),
        ("a%20b.html", "http://my%20site/a%20b.html"),
        ("é.html", "http://my%20site/%C3%A9.html"),
    ],
)
def test_addresses_of_paths(path: str, url: str) -> None:
    assert FileAddresses(Path("/mirrors/My Site")).of(path.encode()) == url


@pytest.mark.parametrize(
    ("written", "url"),
    [
        ("www.example.org/a/index.html?x=1&y=2", "https://www.example.org/a/index.html?x=1&y=2"),
        ("example.org", "https://example.org/"),
        ("127.0.0.1:8000/a.html", "http://127.0.0.1:8000/a.html"),
        ("intranet/a b.html", "http://intranet/a%20b.html"),
        ("https://example.org/a", "https://example.org/a"),
        ("me:secret@example.org/a", "https://example.org/a"),
        ("ftp://example.org/a", ""),
        ("http://", ""),
        ("a" * 300 + "/", ""),
        ("example.org:port/", ""),
        ("example.org:99999/", ""),
    ],
)
def test_what_httrack_writes(written: str, url: str) -> None:
    body = MIRRORED.format(written).encode()
    assert mirrored_address(body) == url
    assert mirrored_address(b" " * 5000 + body) == ""


def test_which_of_them_counts(tmp_path: Path) -> None:
    """The manifest, then the page itself, then the folder, then the base."""
    places = {
        "example.com/key.html": "https://example.org/manifest",
        "example.com/1.html": "https://mirrored.example/1",
        "example.com/2.html": "https://example.com/2.html",
        "other/3.html": "http://base.example/other/3.html",
    }
    for number, name in enumerate(places):
        save(tmp_path / name, number)
    for name in ("key", "1"):
        path = tmp_path / "example.com" / f"{name}.html"
        mirrored = MIRRORED.format(f"https://mirrored.example/{name}").encode()
        path.write_bytes(mirrored + path.read_bytes())
    row = {"file": "key.html", "url": "https://me:secret@example.org/manifest", "role": "key"}
    (tmp_path / "example.com" / "manifest.json").write_text(json.dumps([row]))
    files = saved_files(tmp_path, "http://base.example/")
    found = {path: file.url for path, file in files.items()}
    assert found.pop("example.com/manifest.json") == ""
    assert found == places


@pytest.mark.parametrize(
    "rows",
    [
        [{"file": "../page-0.html", "url": "http://x.example/"}],
        [{"file": "page-0.html", "url": "javascript:alert(1)"}],
        [{"file": "page-0.html", "url": "http://x.example:port/"}],
        [{"file": "page-0.html", "url": "http://x.example/" + "a" * 9000}],
        [{"file": 3, "url": None}, 3, None, "x", [], {}],
        {"file": "page-0.html", "url": "http://x.example/"},
        "page-0.html",
        None,
    ],
)
def test_hostile_manifests(tmp_path: Path, rows: object) -> None:
    folder = save_site(tmp_path / "site", 2)
    (folder / "manifest.json").write_text(json.dumps(rows))
    names = ("manifest.json", "page-0.html", "page-1.html")
    urls = [file.url for file in saved_files(folder).values()]
    assert urls == [f"http://site/{name}" for name in names]


def test_the_encoding_of_a_manifest_counts(tmp_path: Path) -> None:
    (tmp_path / "key.html").write_bytes("<title>Привет</title><p>мир".encode("koi8-r"))
    row = {"file": "key.html", "url": "https://example.org/", "encoding": "koi8-r", "role": "key"}
    (tmp_path / "manifest.json").write_text(json.dumps([row]))
    assert texts(tmp_path)["key.html"] == "<title>Привет</title><p>мир"


def test_every_file_of_a_folder_is_there_once(tmp_path: Path) -> None:
    folder = write(
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


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder

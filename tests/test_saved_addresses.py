"""Where saved pages are from: by a manifest, by what HTTrack wrote, by the names of folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.saved_folders import save, save_site, saved_files, texts
from tplspider.sources.file_addresses import FileAddresses, mirrored_address

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
        ("http/www.example.org/a.html", "http://www.example.org/a.html"),
        ("https/localhost:8000/a.html", "https://localhost:8000/a.html"),
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
        ("jquery.ui/a.html", "http://my%20site/jquery.ui/a.html"),
        ("example.org:99999/a.html", "http://my%20site/example.org:99999/a.html"),
        ("chapter:12/a.html", "http://my%20site/chapter:12/a.html"),
        ("chapter_12/a.html", "http://my%20site/chapter_12/a.html"),
        ("c+8000/a.html", "http://my%20site/c+8000/a.html"),
        ("http/a.html", "http://my%20site/http/a.html"),
        ("example.org", "http://my%20site/example.org"),
        ("a b.org/a.html", "http://my%20site/a%20b.org/a.html"),
        ("-.org/a.html", "http://my%20site/-.org/a.html"),
        ("example..org/a.html", "http://my%20site/example..org/a.html"),
        # Queries, as mirrors write them into names.
        ("a.php?id=3", "http://my%20site/a.php?id=3"),
        ("a.php?id=3.html", "http://my%20site/a.php?id=3"),
        ("a.php?x=%2Fb%20c", "http://my%20site/a.php?x=%2Fb%20c"),
        ("a.php%3Fid=3", "http://my%20site/a.php?id=3"),
        ("a.php@id=3&x=4", "http://my%20site/a.php?id=3&x=4"),
        ("index.html@p=3", "http://my%20site/?p=3"),
        ("a/index.html?p=3", "http://my%20site/a/?p=3"),
        ("me@home.html", "http://my%20site/me@home.html"),
        ("100%.html", "http://my%20site/100%25.html"),
        ("a%20b.html", "http://my%20site/a%20b.html"),
        ("a;b,c(d)'e.html", "http://my%20site/a;b,c(d)'e.html"),
        ("é.html", "http://my%20site/%C3%A9.html"),
    ],
)
def test_addresses_of_paths(path: str, url: str) -> None:
    assert FileAddresses(Path("/mirrors/My Site")).of(path.encode()) == url


def test_the_base_comes_before_the_name_of_the_folder() -> None:
    for base in ("https://example.org/docs", "https://example.org/docs/"):
        addresses = FileAddresses(Path("/mirror"), base)
        assert addresses.of(b"a/index.html") == "https://example.org/docs/a/"
        assert addresses.of(b"example.net/a.html") == "https://example.net/a.html"
    assert FileAddresses(Path("/")).of(b"a.html") == "http://folder/a.html"


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
        [{"file": "sub/page-0.html", "url": "http://x.example/"}],
        [{"file": "/etc/passwd", "url": "http://x.example/"}],
        [{"file": "page-0.html\0", "url": "http://x.example/"}],
        [{"file": "page-0.html", "url": "javascript:alert(1)"}],
        [{"file": "page-0.html", "url": "file:///etc/passwd"}],
        [{"file": "page-0.html", "url": "http://"}],
        [{"file": "page-0.html", "url": "http://x.example:port/"}],
        [{"file": "page-0.html", "url": "http://x.example:99999/"}],
        [{"file": "page-0.html", "url": "http:///x.example/"}],
        [{"file": "page-0.html", "url": "http://[::1/"}],
        [{"file": "page-0.html", "url": "http://x.example/" + "a" * 9000}],
        [{"file": "page-0.html", "url": "http://" + "x" * 5000}],
        [{"file": "page-0.html", "url": ["http://x.example/"]}],
        [{"file": 3, "url": None}, 3, None, "x", [], {}],
        {"file": "page-0.html", "url": "http://x.example/"},
        "page-0.html",
        None,
    ],
)
def test_hostile_manifests(tmp_path: Path, rows: object) -> None:
    folder = save_site(tmp_path / "site", 2)
    (folder / "manifest.json").write_text(json.dumps(rows))
    assert [file.url for file in saved_files(folder).values()] == [
        "http://site/manifest.json",
        "http://site/page-0.html",
        "http://site/page-1.html",
    ]


@pytest.mark.parametrize("text", ["", "[", "[" * 100_000, "\ud800", "9" * 10_000, "\0", "[NaN]"])
def test_files_that_only_look_like_manifests(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    own = FileAddresses(tmp_path).of(b"manifest.json")
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert saved_files(tmp_path)["manifest.json"].url == own
    path.write_bytes(b" " * 9_000_000 + b'[{"file": "a", "url": "http://x.example/"}]')
    assert saved_files(tmp_path)["manifest.json"].url == own
    path.unlink()
    path.symlink_to("/dev/zero")
    assert saved_files(tmp_path)["manifest.json"].fault == "link"


def test_odd_rows_spoil_nothing(tmp_path: Path) -> None:
    for number in range(1, 7):
        save(tmp_path / f"{number}.html", number)
    good = {"file": "1.html", "url": "https://me:secret@example.org/a\u0301?q=é#top"}
    rows = [
        3,
        good,
        {**good, "file": "2.html", "encoding": "latin-1"},
        {**good, "file": "3.html", "encoding": "zip"},
        {**good, "file": "4.html", "encoding": "x" * 1000},
        {**good, "file": "5.html", "encoding": 5},
        {**good, "file": "6.html", "url": "http://x.example/\ud800"},
    ]
    (tmp_path / "manifest.json").write_text(json.dumps(rows))
    url = "https://example.org/a%CC%81?q=%C3%A9"
    files = saved_files(tmp_path)
    found = [
        (files[f"{number}.html"].url, files[f"{number}.html"].encoding) for number in range(1, 6)
    ]
    assert found == [(url, ""), (url, "latin-1"), (url, ""), (url, ""), (url, "")]


def test_the_encoding_of_a_manifest_counts(tmp_path: Path) -> None:
    (tmp_path / "key.html").write_bytes("<title>Привет</title><p>мир".encode("koi8-r"))
    row = {"file": "key.html", "url": "https://example.org/", "encoding": "koi8-r", "role": "key"}
    (tmp_path / "manifest.json").write_text(json.dumps([row]))
    assert texts(tmp_path)["key.html"] == "<title>Привет</title><p>мир"

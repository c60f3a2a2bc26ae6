"""Outputs before anything is requested: names, what they become, and whether they can be written.

Most of it is asked of the spider's own check, which the commands call; some through the commands.
"""

import os
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from tests.support.crawls import CRAWL, PROJECT, Serve, run_scrapy
from tests.support.template_site import CONTENT, pages_of, routes_of
from tests.test_feeds import read
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

URL = "http://127.0.0.1/"


def fault(settings: dict[str, Any] | None = None, **arguments: object) -> str:
    """What is wrong with outputs, in one line; '' if nothing is."""
    given = {"url": URL, **{name: str(value) for name, value in arguments.items()}}
    in_force = Settings()
    in_force.setmodule("settings.default", "project")
    in_force.setdict(settings or {}, "cmdline")
    try:
        TemplateCandidatesSpider.check(given, in_force)
    except ValueError as error:
        found = str(error)
    else:
        return ""
    assert found
    assert "\n" not in found
    return found


def overwriting(*uris: object) -> dict[str, Any]:
    return {"FEEDS": {str(uri): {"format": "json", "overwrite": True} for uri in uris}}


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Everything in a folder, as exactly as it can be told; the folder itself is '.'."""
    return {
        str(path.relative_to(folder)): (
            *((s := path.lstat()).st_mode, s.st_size, s.st_mtime_ns, s.st_ctime_ns, s.st_ino),
            path.read_bytes() if path.is_file() and not path.is_symlink() else b"",
        )
        for path in (folder, *folder.rglob("*"))
    }


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("name", "why"),
    [("folder.json", "Is a directory"), ("old.json/x.json", ""), ("/proc/nowhere.json", "")],
)
def test_what_cannot_be_written(tmp_path: Path, name: str, why: str) -> None:
    (tmp_path / "old.json").write_text("kept")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "folder.warc.gz").mkdir()
    before, path = contents(tmp_path), tmp_path / name
    warc = path.with_suffix(".warc.gz")
    assert why in fault(overwriting(path))
    assert fault(overwriting(path))
    for label, given in {"summary": path, "texts": path, "warc": warc}.items():
        found = fault(None, **{label: given})
        assert found.startswith(f"{label}: ")
        assert why in found
    assert contents(tmp_path) == before
    for new in ("new.json", "sub/new.json", "old.json"):
        assert fault(overwriting(tmp_path / new), summary=tmp_path / "s.jl") == ""
    assert contents(tmp_path) == before


@pytest.mark.parametrize(
    "given", ["summary=-", "summary=x.yaml", "texts=x", "warc=a.txt", "report=r.pdf"]
)
def test_invalid_names(given: str) -> None:
    label, _, name = given.partition("=")
    assert fault(None, **{label: name}).startswith(f"{label}: ")


def test_two_outputs_in_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "keys.txt").write_text(URL)
    other, out = "another feed", overwriting("out.json")
    assert other in fault(out, summary="out.json")
    assert other in fault(out, texts=tmp_path / "out.json")
    assert fault(overwriting("keys.txt"), url="", urls="keys.txt")
    assert fault(summary="-:json", texts="-:csv")
    assert fault(out, summary="s.json", texts="t.json") == ""
    assert (tmp_path / "keys.txt").read_text() == URL


def test_names_as_files(serve: Serve, tmp_path: Path) -> None:
    """Relative names; fields of the spider in the names of feeds, as Scrapy has them."""
    here = os.path.relpath(tmp_path, PROJECT)
    url = serve("menu", routes_of(pages_of())).url
    done = run_scrapy(
        *(*CRAWL, f"-aurl={url}/", f"-O{here}/%(name)s-%(n)s.csv"),
        *(f"-asummary={here}/localhost:8000.json", f"-atexts={here}/new/%(scope)s.json"),
        *("-an=2", f"-asave_html={here}/pages", "-a_job=../job"),
        folder=tmp_path,
        settings={"TPLSPIDER_FEEDS_DIR": f"{here}/c:feeds", "LOG_LEVEL": "INFO"},
    )
    assert done.code == 0, done.log
    names = {path.name for path in tmp_path.iterdir()}
    feed = "template_candidates-2.csv"
    assert names == {feed, "localhost:8000.json", "new", "pages", "c:feeds"}
    assert len(read(tmp_path / feed)) == 2
    assert read(tmp_path / "localhost:8000.json")[0]["complete"]
    assert read(tmp_path / "new" / "host.json")[0]["content_text"] == CONTENT[""]
    job = {path.name for path in (tmp_path / "c:feeds").iterdir()}
    assert job == {".._job.json", ".._job.summary.json"}

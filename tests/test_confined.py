"""What whoever schedules jobs may write on a server: files in one folder, and nothing elsewhere."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from tests.support.crawls import FixtureServer, run_scrapy
from tplspider.old.crawl.arguments import Arguments
from tplspider.old.crawl.batch.job import job_folder
from tplspider.old.crawl.outputs.confined import split_settings
from tplspider.old.crawl.outputs.feeds import plan_outputs
from tplspider.old.crawl.preflight import check_crawl
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

URL = "http://127.0.0.1/"
FILES = ("summary", "template", "save_html", "report", "warc")
ENDINGS = {"report": "html", "warc": "warc.gz"}


@pytest.fixture
def feeds_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a server, whose scrapyd.conf, if there is one, is in tmp_path."""
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "settings.scrapyd")
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "feeds"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (folder / "out").symlink_to(tmp_path / "outside")
    (folder / "out.json").symlink_to(tmp_path / "outside" / "x.json")
    (folder / "out.html").symlink_to(tmp_path / "outside" / "x.html")
    (folder / "out.warc.gz").symlink_to(tmp_path / "outside" / "x.warc.gz")
    (folder / "in").symlink_to("sub")
    return folder


def settings_of(changes: dict[str, Any], *, profile: bool = False) -> Settings:
    """Settings of the profile, by its module or by its name, and those of a job."""
    settings = Settings()
    settings.setmodule("settings.default" if profile else "settings.scrapyd", "project")
    if profile:
        changes = {"TPLSPIDER_PROFILE": "scrapyd", **changes}
    settings.setdict(changes, "cmdline")
    return settings


def fault(settings: Settings, **arguments: str) -> str:
    try:
        check_crawl(TemplateCandidatesSpider, {"url": URL, **arguments}, settings)
    except ValueError as error:
        return str(error)
    return ""


def test_every_argument_that_names_a_file_is_known() -> None:
    """Whatever comes later that names a file or folder belongs to FILES, and is confined."""
    others = {"url", "n", "strategy", "scope", "max_loads", "max_seconds", "witness"}
    others |= {"credentials", "column"}
    assert {field.name for field in fields(Arguments)} - others == {*FILES, "urls"}


def test_lists_and_journals_inside_the_folder_alone(feeds_dir: Path) -> None:
    (feeds_dir / "keys.txt").write_text(URL)
    (feeds_dir.parent / "keys.txt").write_text(URL)
    settings = settings_of({"TPLSPIDER_FEEDS_DIR": str(feeds_dir)})
    assert fault(settings, url="", urls="keys.txt") == ""
    for name in ("../keys.txt", "/etc/passwd", "-", "out/keys.txt", f"file://{feeds_dir}/keys.txt"):
        line = fault(settings, url="", urls=name)
        assert line.startswith(f"urls={name!r}: ")
        assert "TPLSPIDER_FEEDS_DIR" in line
    for name in ("../job", "/tmp/job", "out/job"):
        line = fault(
            settings_of({"TPLSPIDER_FEEDS_DIR": str(feeds_dir), "JOBDIR": name}),
            url="",
            urls="keys.txt",
        )
        assert line.startswith(f"JOBDIR={name!r}: ")
    job = settings_of({"TPLSPIDER_FEEDS_DIR": str(feeds_dir), "JOBDIR": "job"})
    assert job_folder(job) == feeds_dir / "job"


@pytest.mark.parametrize("chosen", ["as the settings", "by name"])
@pytest.mark.parametrize("argument", FILES)
def test_names_inside_the_folder_alone(feeds_dir: Path, argument: str, chosen: str) -> None:
    by_name = chosen == "by name"
    settings = settings_of({"TPLSPIDER_FEEDS_DIR": str(feeds_dir)}, profile=by_name)
    before = sorted(feeds_dir.parent.rglob("*"))
    ending = ENDINGS.get(argument, "json")
    relative = "expected a relative name inside TPLSPIDER_FEEDS_DIR"
    away = "a symbolic link leads out of TPLSPIDER_FEEDS_DIR"
    for name, why in {
        "../x.json": relative,
        "sub/../../x.json": relative,
        "sub/../x.json": relative,
        "/etc/x.json": relative,
        f"{feeds_dir}/x.json": relative,
        f"file://{feeds_dir}/x.json": relative,
        "http://x/s.json": relative,
        "s3://b/s.json": relative,
        "-:json": relative,
        "-x.json": relative,
        "%(x)s.json": "unknown field %(x)s",
        "%(scope)s/../../x.json": relative,
        "out/x.json": away,
        "out.json": away,
    }.items():
        name = name.replace("json", ending)  # noqa: PLW2901 - as this argument has it
        line = fault(settings, **{argument: name})
        assert line.startswith(f"{argument}={name!r}: ")
        assert why in line
    for name in ("x.json", "sub/y.json", "in/y.json", "%(n)s.json", "t-%(time)s.json"):
        assert fault(settings, **{argument: name.replace("json", ending)}) == ""
    assert sorted(feeds_dir.parent.rglob("*")) == before


@pytest.mark.parametrize("argument", FILES)
def test_refused_without_a_folder(feeds_dir: Path, argument: str) -> None:
    line = fault(settings_of({"TPLSPIDER_FEEDS_DIR": ""}), **{argument: "x.json"})
    assert line == f"{argument}='x.json': refused, as this server has no TPLSPIDER_FEEDS_DIR for it"
    assert fault(settings_of({"TPLSPIDER_FEEDS_DIR": ""})) == ""


def test_where_the_files_are(feeds_dir: Path) -> None:
    given = {"summary": "s-%(n)s.json", "template": "sub/t.jl", "save_html": "pages"}
    spider = TemplateCandidatesSpider(url=URL, _job="../job", **given)
    settings = settings_of({"TPLSPIDER_FEEDS_DIR": "feeds"})
    plan = plan_outputs(settings, spider.arguments, spider)
    names = ["s-3.json", "sub/t.jl", ".._job.json", ".._job.summary.json"]
    assert list(plan.feeds) == [str(feeds_dir / name) for name in names]
    assert plan.pages == str(feeds_dir / "pages")


REFUSED = "refused, as the server's own configuration does not name it"


@pytest.mark.parametrize(
    "name",
    [
        "ftp://127.0.0.1/x.json",
        "ftps://127.0.0.1/x.json",
        "gs://bucket/x.json",
        "stdout:",
        "/tmp/x.json",
        "file:///tmp/x.json",
        "x.json",
        "feeds/out/x.json",
        "feeds/../x.json",
    ],
)
@pytest.mark.parametrize("setting", ["FEEDS", "FEED_URI"])
def test_feeds_of_a_job(feeds_dir: Path, name: str, setting: str) -> None:
    value = json.dumps({name: {"format": "json"}}) if setting == "FEEDS" else name
    changes = {"TPLSPIDER_FEEDS_DIR": str(feeds_dir), setting: value, "FEED_FORMAT": "json"}
    assert REFUSED in fault(settings_of(changes))
    # What the server itself names is its own affair.
    own = settings_of({"TPLSPIDER_FEEDS_DIR": str(feeds_dir), "FEED_FORMAT": "json"})
    own.set(setting, value, "project")
    assert fault(own) == ""
    assert fault(settings_of({"TPLSPIDER_CONFINE": False, **changes})) == ""


def test_neither_http_nor_what_scrapy_does_not_know(feeds_dir: Path) -> None:
    for name in ("http://x/x.json", "s3://b/x.json"):
        changes = {"TPLSPIDER_FEEDS_DIR": str(feeds_dir), "FEEDS": {name: {"format": "json"}}}
        assert fault(settings_of(changes)).startswith(f"feed {name!r}: ")


@pytest.mark.parametrize(
    ("items_dir", "name", "allowed"),
    [
        ("items", "file://FOLDER/items/tplspider/template_candidates/x.jl", True),
        ("file://FOLDER/items", "file://FOLDER/items/tplspider/template_candidates/x.jl", True),
        ("items", "file://FOLDER/x.jl", False),
        ("items", "file://FOLDER/items/../x.jl", False),
        ("items", "ftp://127.0.0.1/items/x.jl", False),
        ("ftp://127.0.0.1/items", "ftp://127.0.0.1/items/tplspider/spider/x.jl", True),
        ("ftp://127.0.0.1/items", "ftp://127.0.0.1/items-too/x.jl", False),
        ("ftp://127.0.0.1/items", "ftp://127.0.0.1/items/../x.jl", False),
        ("ftp://127.0.0.1/items", "file://FOLDER/x.jl", False),
        ("", "file://FOLDER/x.jl", False),
    ],
)
def test_what_scrapyd_adds_to_each_job(
    feeds_dir: Path, items_dir: str, name: str, *, allowed: bool
) -> None:
    here = str(feeds_dir.parent)
    config = f"[scrapyd]\nitems_dir = {items_dir.replace('FOLDER', here)}\n"
    (feeds_dir.parent / "scrapyd.conf").write_text(config)
    feeds = json.dumps({name.replace("FOLDER", here): {"format": "jsonlines"}})
    line = fault(settings_of({"TPLSPIDER_FEEDS_DIR": str(feeds_dir), "FEEDS": feeds}))
    assert (line == "") is allowed
    assert allowed or REFUSED in line


def test_settings_that_jobs_may_give(feeds_dir: Path) -> None:
    given = ["DOWNLOAD_DELAY=0", "LOG_FILE=x", "FEEDS={}", "TPLSPIDER_CONFINE=False", "odd"]
    (feeds_dir.parent / "scrapyd.conf").write_text("[scrapyd]\nlogs_dir =\nitems_dir = items\n")
    kept, refused = split_settings(given, "DOWNLOAD_DELAY, DOWNLOAD_TIMEOUT")
    assert kept == ["DOWNLOAD_DELAY=0", "FEEDS={}"]  # items_dir: FEEDS is scrapyd's own
    assert refused == ["LOG_FILE", "TPLSPIDER_CONFINE", "odd"]
    assert split_settings(given, "")[0] == ["FEEDS={}"]


def test_a_crawl(
    serve: Callable[..., FixtureServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve("menu")
    folder = tmp_path / "feeds"
    monkeypatch.setenv("SCRAPY_PROJECT", "scrapyd")
    monkeypatch.setenv("TPLSPIDER_FEEDS_DIR", str(folder))
    monkeypatch.setenv(
        "TPLSPIDER_JOB_SETTINGS",
        "DOWNLOAD_DELAY,TWISTED_DNS_RESOLVER,HTTPPROXY_ENABLED,LOG_LEVEL,TPLSPIDER_ALLOW_PRIVATE",
    )

    def run(*options: str) -> tuple[int, str]:
        done = run_scrapy(
            *("crawl", "template_candidates", f"-aurl={server.url}/docs/guide/four.html"),
            *("-a_job=job", "-sTPLSPIDER_ALLOW_PRIVATE=True", *options),
            folder=tmp_path,
        )
        assert "Traceback" not in done.log
        return done.code, done.log

    for option, words in (
        ("-asummary=../x.json", "expected a relative name inside TPLSPIDER_FEEDS_DIR"),
        ("-sTPLSPIDER_CONFINE=False", "settings that jobs may not give here: TPLSPIDER_CONFINE"),
    ):
        code, log = run(option)
        assert code == 2
        assert len([line for line in log.splitlines() if words in line]) == 1
    assert server.log == []
    assert list(tmp_path.iterdir()) == []
    assert run("-asummary=sub/s.json", "-asave_html=pages", "-awarc=sub/a.warc.gz")[0] == 0
    names = {str(path.relative_to(folder)) for path in folder.rglob("*.json")}
    assert names == {"job.json", "job.summary.json", "sub/s.json", "pages/manifest.json"}
    assert (folder / "sub/a.warc.gz").stat().st_size > 0

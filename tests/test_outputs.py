"""Outputs before anything is requested: names, what they become, and whether they can be written.

Most of it is asked of the spider's own check, which the commands call; some through the commands.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from tests.support.crawls import PROJECT, FixtureServer, run_scrapy
from tests.support.full_disk import files_of_at_most
from tests.support.template_site import CONTENT, pages_of, routes_of
from tests.test_feeds import read
from tplspider.old.crawl.arguments import check_arguments
from tplspider.old.crawl.outputs.archive_place import claim
from tplspider.old.crawl.outputs.feeds import plan_outputs
from tplspider.old.crawl.preflight import check_crawl
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

URL = "http://127.0.0.1/"


def fault(settings: dict[str, Any] | None = None, **arguments: object) -> str:
    """What is wrong with outputs, in one line; '' if nothing is."""
    given = {"url": URL, **{name: str(value) for name, value in arguments.items()}}
    try:
        check_crawl(TemplateCandidatesSpider, given, settings_of(settings))
    except ValueError as error:
        found = str(error)
    else:
        return ""
    assert "\n" not in found
    return found


def settings_of(changes: dict[str, Any] | None) -> Settings:
    settings = Settings()
    settings.setmodule("settings.default", "project")
    settings.setdict(changes or {}, "cmdline")
    return settings


def names(settings: dict[str, Any] | None = None, **arguments: str) -> list[str]:
    """The names that Scrapy is given."""
    spider = TemplateCandidatesSpider(url=URL, **arguments)
    plan = plan_outputs(settings_of(settings), check_arguments({"url": URL, **arguments}), spider)
    return list(plan.feeds)


def overwriting(*uris: object) -> dict[str, Any]:
    """FEEDS as -O gives it."""
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


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a file, a folder, a link to nothing and one to /dev/full."""
    (tmp_path / "old.json").write_text("kept")
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "dangling.json").symlink_to(tmp_path / "missing" / "target.json")
    (tmp_path / "full.json").symlink_to("/dev/full")
    (tmp_path / "loop.json").symlink_to(tmp_path / "loop.json")
    os.mkfifo(tmp_path / "pipe.json")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("folder.json", "Is a directory"),
        ("old.json/sub/x.json", "Not a directory"),
        ("full.json", "No space left on device"),
        ("full.json/x.json", "Not a directory"),
        ("loop.json", "Too many levels of symbolic links"),
        (f"{'x' * 300}.json", "File name too long"),
        (f"missing/{'x' * 300}.json", "File name too long"),
        ("/proc/nowhere/x.json", "No such file or directory"),
        ("/proc/nowhere.json", "No such file or directory"),
    ],
)
def test_what_cannot_be_written_is_refused(place: Path, name: str, why: str) -> None:
    path = place / name
    before = snapshot(place)
    for label, line in (
        (f"feed {str(path)!r}", fault(overwriting(path))),
        (f"feed 'file://{path}'", fault({"FEEDS": {f"file://{path}": {"format": "json"}}})),
        (f"summary={str(path)!r}", fault(summary=path)),
        (f"template={str(path)!r}", fault(template=path)),
        ("TPLSPIDER_FEEDS_DIR", fault({"TPLSPIDER_FEEDS_DIR": str(path.parent)}, _job=path.stem)),
    ):
        assert line.startswith(label)
        assert line.endswith(f": cannot write to this file ({why})")
    assert snapshot(place) == before


def test_trying_changes_nothing(place: Path) -> None:
    before = snapshot(place)
    assert fault(overwriting(place / "old.json", place / "new.json")) == ""
    assert fault({"FEEDS": {str(place / "old.json"): {"format": "json"}}}) == ""  # appending
    assert fault(overwriting(place / "missing" / "folder" / "x.json")) == ""
    assert fault(summary=place / "dangling.json", template=place / "empty.json") == ""
    assert fault(summary=place / "pipe.json") == ""
    assert fault({"TPLSPIDER_FEEDS_DIR": str(place / "missing" / "feeds")}) == ""
    assert fault(save_html=place / "missing" / "pages") == ""
    assert fault(save_html=place / "folder.json") == ""
    assert fault(overwriting("/dev/null")) == ""
    assert fault(warc=place / "missing" / "a.warc.gz") == ""
    assert snapshot(place) == before
    os.mkfifo(place / "pipe.warc.gz")
    assert fault(warc=place / "pipe.warc.gz").endswith(": it is not a plain file")


def test_two_crawls_cannot_write_one_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(b"first")
    with path.open("ab") as first:
        claim(first.fileno())
        assert fault(warc=path) == f"warc={str(path)!r}: another crawl writes to it"
    assert fault(warc=path) == ""
    assert path.read_bytes() == b"first"


@pytest.mark.slow
def test_where_there_is_no_space(tmp_path: Path) -> None:
    """A limit for files says the same as a full disk does, of a file that is not written yet."""
    (tmp_path / "old.json").write_text("kept")
    code = (
        "from tests.test_outputs import fault, overwriting, Path; place = Path(sys.argv[1])\n"
        "print(fault(overwriting(place / 'new.json')))\n"
        "print(fault(summary=place / 'sub' / 'new.json'))\n"
        "print(fault({'TPLSPIDER_FEEDS_DIR': str(place)}, _job='job'))\n"
        "print(fault({'FEEDS': {str(place / 'old.json'): {'format': 'json'}}}))\n"
        "print(fault(save_html=place / 'html'))\n"
    )
    before = snapshot(tmp_path)
    done = python(code, str(tmp_path), capture_output=True, preexec_fn=files_of_at_most(1000))
    lines = done.stdout.splitlines()
    assert len(lines) == 5
    assert all(line.endswith(" (File too large)") for line in lines)
    assert snapshot(tmp_path) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a disk")
def test_a_full_disk(tmp_path: Path) -> None:
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8k", "tmpfs", str(tmp_path)],
        check=False,
        capture_output=True,
    )
    if mount.returncode:
        pytest.skip("nothing can be mounted here")
    try:
        (tmp_path / "old.json").write_bytes(bytes(8192))
        assert "(No space left on device)" in fault(summary=tmp_path / "new.json")
        assert "(No space left on device)" in fault(save_html=tmp_path / "html")
        # What is overwritten makes room for itself.
        assert fault(overwriting(tmp_path / "old.json")) == ""
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run lines of Python that may import this module."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {code}", *arguments],
        cwd=PROJECT,
        text=True,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody can reach; those of pytest are for its user alone."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.slow
def test_what_belongs_to_somebody_else(open_folder: Path) -> None:
    for name, mode in (("closed", 0o555), ("open", 0o777)):
        (open_folder / name).mkdir()
        (open_folder / name / "read-only.json").write_text("")
        (open_folder / name / "read-only.json").chmod(0o444)
        (open_folder / name / "ours.json").write_text("")
        (open_folder / name / "ours.json").chmod(0o666)
        (open_folder / name).chmod(mode)
    code = (
        "from tests.test_outputs import fault, overwriting, Path, os; place = Path(sys.argv[1])\n"
        "os.geteuid() or os.seteuid(65534)\n"
        "for folder in ('closed', 'open'):\n"
        "    for name in ('read-only.json', 'ours.json', 'new.json', 'new/x.json'):\n"
        "        print(fault(overwriting(place / folder / name))[-19:])\n"
        "    print(fault(save_html=place / folder / 'new')[-19:])\n"
    )
    denied = "(Permission denied)"
    answers = python(code, str(open_folder), capture_output=True).stdout.splitlines()
    assert answers[:5] == [denied, "", denied, denied, denied]
    assert answers[5:] == [denied, "", "", "", ""]
    (open_folder / "closed").chmod(0o755)


NAMES = {
    "summary=http://x/s.json": "expected a local file or folder, not an address",
    "summary=s3://b/s.json": "expected a local file or folder, not an address",
    "template=ftp://u:p@h/t.json": "expected a local file or folder, not an address",
    "summary=file://elsewhere/tmp/s.json": "expected file:///and/a/path, without a host",
    "summary=%(foo)s.json": "unknown field %(foo)s",
    "template=x-%(n)s-%(bar)s.json": "unknown field %(bar)s",
    "save_html=%(foo)s": "unknown field %(foo)s",
    "summary=%(name)d.json": "%(name)d cannot be filled in",
    "summary=%(n)999999999s.json": "is too wide a field",
    "summary=-": "-:json and the like for standard output",
    "summary=-:yaml": "expected a file that ends in one of",
    "save_html=http://x/": "expected a local file or folder, not an address",
    "warc=": "expected a file that ends in .warc.gz",
    "warc=a.warc": "expected a file that ends in .warc.gz",
    "warc=%(foo)s.warc.gz": "unknown field %(foo)s",
    "warc=s3://b/a.warc.gz": "expected a local file or folder, not an address",
}
FEEDS = {
    "localhost:8000.json": "for a local file of this name, give ./localhost:8000.json",
    "http://x/s.json": "Scrapy cannot store anything at http:",
    "s3://b/s.json": "missing boto3 library",
    "ftp://:secret@/s.json": "without a hostname",
    "x%(foo)s.json": "unknown field %(foo)s",
    "x.yaml": "unknown format 'yaml'",
    "http://[x/s.json": "Invalid IPv6 URL",
}


@pytest.mark.parametrize("given", NAMES)
def test_names_that_will_not_do(given: str) -> None:
    argument, _, name = given.partition("=")
    line = fault(None, **{argument: name})
    assert line.startswith(f"{argument}={name!r}: ")
    assert NAMES[given] in line


@pytest.mark.parametrize("name", FEEDS)
def test_feeds_for_which_scrapy_would_write_none(name: str) -> None:
    line = fault({"FEEDS": {name: {}}})
    assert FEEDS[name] in line
    assert line.startswith("feed ")
    assert "secret" not in line


def test_a_feed_in_batches_needs_names_for_them() -> None:
    count = {"FEED_EXPORT_BATCH_ITEM_COUNT": 2}
    assert "batches need %(batch_id)d" in fault({**overwriting("x.json"), **count})
    # Ours are one file each.
    assert fault(count, summary="summary.json") == ""


def test_what_names_become(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here = str(tmp_path)
    assert names(summary="localhost:8000.json") == [f"{here}/localhost:8000.json"]
    assert names(summary="file:///x/a%20b.json") == ["/x/a b.json"]
    assert names(summary="100%.json", n="7") == [f"{here}/100%.json"]
    assert names(summary="%(name)s-%(n)s.json") == [f"{here}/template_candidates-3.json"]
    assert names(summary="missing/../%(n)s.json", n="7") == [f"{here}/7.json"]
    assert names(summary="-:csv", template="c:x.xml") == ["stdout:", f"{here}/c:x.xml"]
    # What a value brings is not a field any more.
    sub = names(overwriting("%(template)s.json"), template="%(n)s.json")
    assert sub == [f"file://{here}/%25%28n%29s.json.json", f"{here}/3.json"]
    # Batches are for Scrapy to count.
    batched = {"FEEDS": {"%(n)s-%(batch_id)d.json": {"batch_item_count": 2}}}
    assert names(batched) == [f"{here}/3-%(batch_id)d.json"]
    (timed,) = names(summary="%(time)s.json")
    assert timed[len(here) + 1 :].startswith("20")


def test_the_projects_own_fields(tmp_path: Path) -> None:
    settings = {
        "FEED_URI_PARAMS": "tests.test_outputs.own_fields",
        **overwriting(tmp_path / "%(x)s.json"),
    }
    assert names(settings, summary=f"{tmp_path}/%(x)s-.json") == [
        f"{tmp_path}/own.json",
        f"{tmp_path}/own-.json",
    ]


def own_fields(values: dict[str, Any], spider: Any) -> dict[str, Any]:
    return {**values, "x": "own"}


def test_two_outputs_in_one_file(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    (place / "link.json").hardlink_to(place / "old.json")
    (place / "symlink.json").symlink_to("old.json")
    (place / "sub").symlink_to(".")
    before = snapshot(place)
    other, out = "is the file of another feed", overwriting("old.json")
    for name in ("old.json", "link.json", "symlink.json", "sub/old.json", "x/../old.json"):
        assert other in fault(out, summary=name)
        assert other in fault(out, template=f"file://localhost{place}/{name}")
        assert other in fault(overwriting("old.json", f"./{name}"))
        assert other in fault(summary="old.json", template=f"./{name}")
    assert other in fault(overwriting("x%(n)s.json"), summary="x3.json")
    assert other in fault(overwriting("x%(n)s.json"), summary="x7.json", n=7)
    assert other in fault(overwriting("x%(time)s.json"), summary="x%(time)s.json")
    assert other in fault(overwriting("sub/new.json"), summary="new.json")
    assert other in fault(overwriting("missing/x.json"), summary="sub/missing/x.json")
    feeds_dir = {"TPLSPIDER_FEEDS_DIR": str(place / "sub")}
    assert other in fault(feeds_dir, summary="job.json", _job="job")
    assert other in fault(feeds_dir, template="job.summary.json", _job="job")
    assert other in fault({**feeds_dir, **overwriting("job.json")}, _job="job")
    batched = {"FEEDS": {"x%(batch_id)d.json": {"batch_item_count": 2}}}
    assert other in fault(batched, summary="x2.json")
    assert "its folder is the file of another feed" in fault(
        overwriting("new.json"), summary="new.json/x.json"
    )
    assert "is the file of the log" in fault({"LOG_FILE": "old.json"}, summary="link.json")
    assert "is the file of the list of key pages" in fault(out, url="", urls="link.json")
    assert other in fault(overwriting("new.warc.gz"), warc="sub/new.warc.gz")
    assert "is the file of the log" in fault({"LOG_FILE": "a.warc.gz"}, warc="sub/a.warc.gz")
    assert "would be in this folder as well" in fault(save_html="pages", warc="pages/a.warc.gz")
    assert "would be in this folder as well" in fault(report="pages", warc="pages/a.warc.gz")
    assert "standard output is that of another feed" in fault(
        {"FEEDS": {"stdout:": {"format": "json"}}}, summary="-:json"
    )
    assert "standard output is that of another feed" in fault(summary="-:json", template="-:csv")
    # They are different, or it makes no difference.
    assert fault(overwriting("x%(n)s.json"), summary="x4.json") == ""
    assert fault(batched, summary="x999.json") == ""
    assert fault(overwriting("/dev/null"), summary="-:json") == ""
    (place / "null.json").symlink_to("/dev/null")
    assert fault(overwriting("/dev/null"), summary="null.json") == ""
    (place / "null.json").unlink()
    assert {**snapshot(place), ".": ()} == {**before, ".": ()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("FOLDER/x.json", "standard output is that of another feed"),
        ("/dev/full", "cannot write to standard output (No space left on device)"),
    ],
)
def test_standard_output_may_be_a_file(tmp_path: Path, name: str, words: str) -> None:
    path = Path(name.replace("FOLDER", str(tmp_path)))
    code = (
        "from tests.test_outputs import fault, overwriting\n"
        "feeds = {} if sys.argv[1] == '/dev/full' else overwriting(sys.argv[1])\n"
        "print(fault(feeds, summary='-:json'), file=sys.stderr)"
    )
    with path.open("wb") as file:
        done = python(code, str(path), stdout=file, stderr=subprocess.PIPE)
    assert words in done.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("-O/dev/full:json",), "feed '/dev/full': cannot write to this file (No space left"),
        (("-oFOLDER:jl",), "(Is a directory)"),
        (("-sTPLSPIDER_FEEDS_DIR=/dev/full",), "(Not a directory)"),
        (("-asummary=FOLDER/x3.json", "-OFOLDER/x%(n)s.json"), "is the file of another feed"),
        (("-O-:json", "-asummary=-:json"), "standard output is that of another feed"),
    ],
)
def test_one_line_and_exit_status_2(
    serve: Callable[..., FixtureServer], tmp_path: Path, options: tuple[str, ...], words: str
) -> None:
    server = serve("menu")
    given = [option.replace("FOLDER", str(tmp_path)) for option in options]
    done = run_scrapy(
        "crawl", "template_candidates", f"-aurl={server.url}", *given, folder=tmp_path
    )
    assert done.code == 2
    (line,) = done.log.splitlines()
    assert line.startswith("scrapy crawl: error: ")
    assert words in line
    assert "Traceback" not in done.log
    assert done.stdout == ""
    assert server.log == []
    assert list(tmp_path.iterdir()) == []


def test_the_text_of_the_command_is_an_output_too(
    serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    server = serve("menu")
    for option in ("-O-:json", "-asummary=-:json"):
        done = run_scrapy("template", server.url, option, folder=tmp_path)
        assert done.code == 2
        assert "standard output is that of the text: give it a file" in done.log
    assert server.log == []


def test_names_as_files(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    """Names that look like addresses, or fields, are files where they may be."""
    here = os.path.relpath(tmp_path, PROJECT)
    url = serve("menu", routes_of(pages_of())).url
    done = run_scrapy(
        *("crawl", "template_candidates", f"-aurl={url}/", f"-O{here}/%(name)s-%(n)s.csv"),
        *(f"-asummary={here}/localhost:8000.json", f"-atemplate={here}/100%d-%(scope)s.json"),
        *("-an=2", f"-asave_html={here}/pages-%(n)s"),
        folder=tmp_path,
        settings={"TPLSPIDER_FEEDS_DIR": f"{here}/c:feeds", "LOG_LEVEL": "INFO"},
    )
    assert done.code == 0, done.log
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {
        *("template_candidates-2.csv", "localhost:8000.json", "100%d-host.json"),
        *("pages-2", "c:feeds"),
    }
    assert len(read(tmp_path / "template_candidates-2.csv")) == 2
    assert read(tmp_path / "localhost:8000.json")[0]["complete"]
    assert read(tmp_path / "100%d-host.json")[0]["content_text"] == CONTENT[""]
    assert len(list((tmp_path / "c:feeds").iterdir())) == 2


def test_a_summary_on_standard_output(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    url = serve("menu").url
    done = run_scrapy(
        *("crawl", "template_candidates", f"-aurl={url}/docs/guide/four.html"),
        *("-asummary=-:jl", f"-O{tmp_path / 'out.json'}"),
        folder=tmp_path,
    )
    assert done.code == 0
    (tmp_path / "summary.jl").write_text(done.stdout)
    assert read(tmp_path / "summary.jl")[0]["complete"]
    assert len(done.candidates) == 3
    assert "does not support overwriting" not in done.log
    # No template, but the columns that it would have.
    done = run_scrapy(
        *("crawl", "template_candidates", f"-aurl={url}/missing.html", "-atemplate=-:csv"),
        folder=tmp_path,
    )
    assert done.stdout.startswith("key_url,")
    assert "Traceback" not in done.log

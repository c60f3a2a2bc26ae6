"""``scrapy archive`` and ``scrapy strip`` on WARC files, as a person runs them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from tests.support.crawls import PROJECT, run_scrapy
from tests.support.saved_folders import own_text, save, strip
from tests.support.template_site import CONTENT, page, pages_of
from tests.support.warc_files import packed, record, response
from tests.test_outputs import snapshot
from tplspider import search_pages
from tplspider.commands import archive as archive_command
from tplspider.commands import strip as strip_command
from tplspider.old.crawl.archive.plan import plan_archive
from tplspider.old.crawl.archive.run import run_archive
from tplspider.old.crawl.strip.plan import plan_strip
from tplspider.old.crawl.strip.run import run_strip
from tplspider.search.session import SearchLimits
from tplspider.sources.warc_archive import NAME, open_archive
from tplspider.sources.warc_index import WarcIndex

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

HOSTS = [f"http://{name}.example" for name in ("a", "b", "c")]


def warc(path: Path, hosts: Iterable[str] = HOSTS, only: str = "abc") -> Path:
    """The sites of some hosts: a key page at /, and the pages of its menu."""
    path.write_bytes(
        packed(
            response(f"{host}/{name}", body)
            for host in hosts
            for name, body in pages_of(menu=host[7:]).items()
            if name in only
        )
    )
    return path


def run(command: Any, *arguments: object, **settings: object) -> int:
    """The exit status of a command that is run in this process."""
    told = Settings({"TPLSPIDER_EXTRACT_WORKERS": "0", "LOGSTATS_INTERVAL": 0, **settings})
    made = command.Command()
    made.settings = told
    parser = ArgumentParser()
    made.add_options(parser)
    given, rest = parser.parse_known_args([*map(str, arguments)])
    if command is strip_command:
        return run_strip(plan_strip(rest, given, told), 0)
    return run_archive(plan_archive(rest, given, told), told)


def archive(*arguments: object, **settings: object) -> int:
    return run(archive_command, *arguments, **settings)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def keys(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_rows_in_the_order_of_the_list(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = warc(tmp_path / "x.warc.gz")
    urls = [f"{host}/" for host in HOSTS]
    listed = keys(
        tmp_path / "keys.csv", "url,note,n", f"{urls[1]},second,2", f"{urls[0]},first,",
        f"{urls[1]},again,2", "ftp://x/,bad,", "http://a.example/gone,missing,",
    )  # fmt: skip
    out, summary, template = (tmp_path / f"{name}.jl" for name in ("out", "summary", "template"))
    told = ("-O", out, "--summary", summary, "--template", template)
    assert archive(file, "-i", listed, *told) == 1  # of the bad line
    lines = capsys.readouterr().err.splitlines()
    assert lines[1:] == [
        "Line 6: http://a.example/gone is not archived",
        "5 key pages: 3 complete, 1 bad-input, 1 not-archived",
    ]

    rows = read(summary)
    assert [(row["line"], row["input"]) for row in rows] == [
        (2, {"note": "second"}), (3, {"note": "first"}), (4, {"note": "again"}),
        (5, {"note": "bad"}), (6, {"note": "missing"}),
    ]  # fmt: skip
    outcomes = ["ok", "ok", "ok", "bad-input", "not-archived"]
    assert [row["key_outcome"] for row in rows] == outcomes
    assert {row["method"] for row in rows} == {"search"}
    with open_archive([file]).open() as site:
        session = search_pages(site, urls[0], limits=SearchLimits(for_template=True))
    assert session.summary is not None
    assert rows[1] == asdict(session.summary) | {"line": 3, "input": {"note": "first"}}
    assert [row for row in read(out) if row["key_url"] == urls[0]] == [
        asdict(each) for each in session.candidates()
    ]
    assert len(read(out)) == 2 + 3  # the second time, a search gives its summary alone
    texts = {row["key_url"]: row["main_text"] for row in read(template)}
    assert texts == {urls[0]: CONTENT[""], urls[1]: CONTENT[""]}


def test_some_pages_of_each_host(tmp_path: Path) -> None:
    file, out = warc(tmp_path / "x.warc.gz"), tmp_path / "summary.csv"
    assert archive(file, "--every", 2, "--summary", out) == 0
    assert len(out.read_text().splitlines()) == 1 + 2 * len(HOSTS)
    two = tmp_path / "summary.jl"
    chosen = ("--host", "www.c.example", "--host", "a.example")
    assert archive(file, "--every", 1, *chosen, "--summary", two) == 0
    hosts = [row["requested_url"].split("/")[2] for row in read(two)]
    assert hosts == ["a.example", "c.example"]
    listed = keys(tmp_path / "keys.txt", *(f"{host}/" for host in HOSTS))
    assert archive(file, "-i", listed, "--host", "b.example", "--summary", two) == 0
    assert [row["line"] for row in read(two)] == [2]


def test_hosts_of_which_there_is_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, out = warc(tmp_path / "x.warc.gz"), tmp_path / "summary.jl"
    told = ("--summary", out, "--host", "no.example")
    with pytest.raises(ValueError, match=r"--host no\.example: no page of it is archived"):
        archive(file, "--every", 1, *told)
    assert not out.exists()
    assert archive(file, "--every", 1, *told, "--host", "a.example") == 1
    assert len(read(out)) == 1
    line = "--host no.example: no page of it is archived"
    assert capsys.readouterr().err.splitlines()[0] == line
    listed = keys(tmp_path / "keys.txt", *(f"{host}/" for host in HOSTS))
    assert archive(file, "-i", listed, *told) == 1
    line = "no key page of the list is of --host no.example"
    assert capsys.readouterr().err.splitlines()[0] == line


def test_key_pages_that_are_not_archived_are_named_up_to_a_few(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = warc(tmp_path / "x.warc.gz", HOSTS[:1])
    gone = (f"http://gone.example/{n}" for n in range(9))
    listed = keys(tmp_path / "keys.txt", "a.example/", *gone)
    assert archive(file, "-i", listed, "--summary", tmp_path / "summary.jl") == 0
    assert capsys.readouterr().err.splitlines() == [
        (
            "Line 1: https://a.example/ is not archived"
            " (https was assumed, as the address has no scheme: is it http://...?)"
        ),
        *(f"Line {n + 2}: http://gone.example/{n} is not archived" for n in range(4)),
        "... and more that are not archived: the summaries tell which",
        "10 key pages: 10 not-archived",
    ]


def test_where_the_archive_is_too_thin_a_pool_gives_the_template(tmp_path: Path) -> None:
    host = HOSTS[0]
    others = [response(f"{host}/far/{n}", page(own_text(n), menu="a.example")) for n in range(5)]
    file = tmp_path / "x.warc.gz"
    file.write_bytes(packed([response(f"{host}/", page(CONTENT[""], menu="a.example")), *others]))
    template, summary = tmp_path / "template.jl", tmp_path / "summary.jl"
    listed = keys(tmp_path / "keys.txt", f"{host}/")
    told = ("--template", template, "--summary", summary)
    assert archive(file, "-i", listed, *told) == 0
    (row,), (end,) = read(template), read(summary)
    assert (row["method"], row["evidence"], row["main_text"]) == ("pool", 3, CONTENT[""])
    assert (end["method"], end["cs_size"], end["not_archived"], end["loads"]) == ("pool", 0, 3, 1)
    assert list(row)[-1] == list(end)[-1] == "method"
    # Without other pages, there is nothing to go by but the page itself.
    file.write_bytes(packed([response(f"{host}/", page(CONTENT[""]))]))
    assert archive(file, "-i", listed, *told) == 0
    assert [(each["method"], each["evidence"]) for each in read(template)] == [("search", 0)]


def test_files_that_hold_nothing_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, listed = warc(tmp_path / "x.warc.gz"), keys(tmp_path / "keys.txt", "http://a.example/")
    (tmp_path / "empty.warc").touch()
    (tmp_path / "text.warc").write_text("not a WARC file\n" * 100)
    cut = tmp_path / "cut.warc.gz"
    cut.write_bytes(good.read_bytes()[:-20])
    out = tmp_path / "out.jl"
    files = (tmp_path / "empty.warc", tmp_path / "text.warc", cut)
    assert archive(*files, good, "-i", listed, "-O", out) == 1
    told = capsys.readouterr().err
    for name in ("empty", "text"):
        assert f"{name}.warc: it is not a WARC file, or nothing in it can be read" in told
    assert "cut.warc.gz: cut off: 1 (all that can be read is used)" in told
    assert len(read(out)) == 3
    with pytest.raises(ValueError, match="none of the files can be read"):
        archive(*files[:2], "-i", listed, "-O", out)


def test_a_file_without_pages_is_not_a_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good, out = warc(tmp_path / "x.warc.gz"), tmp_path / "out.jl"
    log = tmp_path / "meta.warc.gz"
    log.write_bytes(packed([record("warcinfo", content=b"software: x\r\n")]))
    assert run(strip_command, good, log, "-O", out) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"{log}: there is no page in it",
        "12 pages: 12 stripped",
    ]
    assert run(strip_command, log, "-O", out) == 0
    assert capsys.readouterr().err.splitlines()[1:] == ["no page"]
    (tmp_path / "text.warc").write_text("not a WARC file\n")
    assert run(strip_command, good, tmp_path / "text.warc", "-O", out) == 1
    assert capsys.readouterr().err.splitlines()[1:] == ["12 pages: 12 stripped"]


def test_warc_files_in_a_folder_of_pages_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = warc(tmp_path / "x.warc.gz")
    assert run(strip_command, tmp_path, "-O", tmp_path / "out.jl") == 0
    last = f"1 WARC file not read: give the files, scrapy strip {file} ..."
    assert capsys.readouterr().err.splitlines() == ["1 file: 1 not-html", last]
    (tmp_path / "x.gz").touch()
    with pytest.raises(ValueError, match=r"not a folder, and the name of a WARC file ends in"):
        run(strip_command, tmp_path / "x.gz", "-O", tmp_path / "out.jl")


def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    file, listed = warc(tmp_path / "x.warc.gz"), keys(tmp_path / "keys.txt", "http://a.example/")
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes").write_text("mine")
    (tmp_path / "link.jl").symlink_to(file)
    lines = keys(tmp_path / "lines.jl", '{"url": "http://a.example/"}')
    for name in ("pipes", "gone"):
        (tmp_path / name).mkdir()
        warc(tmp_path / name / "a.warc.gz")
    os.mkfifo(tmp_path / "pipes" / "b.warc")
    (tmp_path / "gone" / "b.warc").symlink_to("nowhere")
    before = snapshot(tmp_path)
    out = ("-O", tmp_path / "out.jl")
    of_list = (file, "-i", listed)
    faults = [
        ((*of_list,), "give at least one of -O, --summary, --template and --report"),
        ((file, *out), "give key pages"),
        ((*of_list, *out, "--every", 3), "-i FILE or --every K, not both"),
        ((file, "http://a.example/", "-i", listed, *out), "echo ADDRESS | scrapy archive"),
        ((file, "-i", file, *out), "this is a WARC file"),
        ((file, *out, "--every", "x"), "--every 'x': expected a whole number"),
        (("-i", listed, *out), "give one or more WARC files"),
        ((tmp_path / "no.warc", "-i", listed, *out), "no such file"),
        ((tmp_path / "folder", "-i", listed, *out), "no WARC file in this folder"),
        ((tmp_path / "pipes", "-i", listed, *out), "b.warc': it is not a plain file"),
        ((tmp_path / "gone", "-i", listed, *out), "b.warc': there is no such file"),
        ((file, "-i", tmp_path / "none", *out), "-i "),
        ((*of_list, "-O", "out.pdf"), "-O 'out.pdf': expected a file that ends in"),
        ((*of_list, *out, "--summary", tmp_path / "out.jl"), "is the file of another feed"),
        ((*of_list, *out, "-a", "strategy=wild"), "strategy='wild'"),
        ((*of_list, *out, "-a", "url=x"), "unknown argument 'url'"),
        ((*of_list, *out, "-n", "0"), "n='0'"),
        ((*of_list, *out, "--host", "/"), "--host '/'"),
        ((*of_list, *out, "--index", tmp_path / "notes"), "this is not an index of archives"),
        ((*of_list, *out, "--index", tmp_path / "no" / "i"), "there is no such folder"),
        ((*of_list, *out, "--cdxj", tmp_path / "none"), "--cdxj"),
        ((*of_list, *out, "--cdxj", tmp_path / "notes"), "this is not CDXJ"),
        ((*of_list, *out, "--cdxj", file), "this is not CDXJ"),
        ((*of_list, *out, "-x"), "unknown option '-x'"),
        ((file, "-i", lines, "-O", lines), "is the file of the key pages (-i)"),
        ((*of_list, *out, "--index", tmp_path / "out.jl"), "is the file of the index"),
        ((*of_list, "-O", tmp_path / "link.jl"), "is the file of the archive"),
    ]
    for arguments, expected in faults:
        with pytest.raises(ValueError, match=r"\w") as raised:
            archive(*arguments)
        assert expected in str(raised.value)
        assert "\n" not in str(raised.value)
    with pytest.raises(ValueError, match=r"make it \.jl or \.csv"):
        archive(*of_list, "-O", tmp_path / "out.json", JOBDIR=str(tmp_path / "job"))
    assert snapshot(tmp_path) == before


def test_a_restart_adds_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = warc(tmp_path / "x.warc.gz")
    out, summary = tmp_path / "out.jl", tmp_path / "summary.csv"
    told = ("-i", tmp_path / "keys.txt", "-O", out, "--summary", summary)
    settings = {"JOBDIR": str(tmp_path / "job")}
    keys(tmp_path / "keys.txt", f"{HOSTS[0]}/")
    assert archive(file, *told, **settings) == 0
    first = out.read_bytes(), summary.read_bytes()
    with out.open("ab") as half:
        half.write(b'{"key_url": "half of a r')  # as after a kill
    keys(tmp_path / "keys.txt", *(f"{host}/" for host in HOSTS))
    assert archive(file, *told, **settings) == 0
    assert out.read_bytes().startswith(first[0])
    assert summary.read_bytes().startswith(first[1])
    again = out.read_bytes(), summary.read_bytes()
    assert capsys.readouterr().err.endswith("2 key pages: 2 complete; 1 answered before\n")
    assert archive(file, *told, **settings) == 0
    assert capsys.readouterr().err == "3 key pages answered before, and none left\n"
    assert (out.read_bytes(), summary.read_bytes()) == again
    fresh = ("-i", tmp_path / "keys.txt", "-O", tmp_path / "2.jl", "--summary", tmp_path / "2.csv")
    assert archive(file, *fresh) == 0
    assert ((tmp_path / "2.jl").read_bytes(), (tmp_path / "2.csv").read_bytes()) == again
    with pytest.raises(ValueError, match="options was"):
        archive(file, *told, "-n", 2, **settings)


def test_reports(tmp_path: Path) -> None:
    file = warc(tmp_path / "x.warc.gz")
    one = keys(tmp_path / "one.txt", f"{HOSTS[0]}/")
    assert archive(file, "-i", one, "--report", tmp_path / "one.html") == 0
    assert "a.example" in (tmp_path / "one.html").read_text()
    assert archive(file, "--every", 1, "--report", tmp_path / "reports") == 0
    assert len(list((tmp_path / "reports").glob("*.html"))) == 1 + len(HOSTS)


def test_stripped_pages_are_those_of_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "a.example"
    for number in range(12):
        save(folder / f"{number}.html", number)
    rows = {row["path"]: row for row in strip(folder, base_url="http://a.example/")}
    file, out = tmp_path / "x.warc.gz", tmp_path / "out.jl"
    pages = [(path, (folder / path).read_bytes()) for path in map(str, rows)]
    file.write_bytes(
        packed(
            [*(response(f"http://a.example/{path}", body) for path, body in pages),
             response("http://a.example/5.html", pages[0][1], "404 Not Found"),
             response("http://a.example/empty.html", b""),
             response("http://a.example/x.png", b"\x89PNG\x00", Content_Type="image/png")]
        )
    )  # fmt: skip
    assert run(strip_command, file, "-O", out) == 0
    found = {row["url"].rpartition("/")[2]: row for row in read(out)}
    assert found.pop("empty.html")["outcome"] == "empty"
    assert {*found} == {*rows}
    for name, row in found.items():
        assert row.pop("path") == "x.warc.gz"
        assert isinstance(row.pop("offset"), int)
        assert row == {each: value for each, value in rows[name].items() if each != "path"}


@pytest.mark.crawl
@pytest.mark.parametrize("is_gone", [True, False], ids=["gone", "cut"])
def test_a_file_that_changes_in_the_middle(is_gone: bool, tmp_path: Path) -> None:  # noqa: FBT001 - a case
    """What cannot be read is not just "not archived": it is told, and the status is 1."""
    file = warc(tmp_path / "x.warc.gz")
    command = [sys.executable, "-m", "scrapy", "archive", str(file), "-i", "-", "--workers", "1"]
    command += ["-O", str(tmp_path / "out.jl"), "--summary", str(tmp_path / "summary.jl")]
    index = tmp_path / "tplspider.warc-index"
    with subprocess.Popen(
        command, cwd=PROJECT, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        while not is_indexed(index):
            assert process.poll() is None
            time.sleep(0.05)
        if is_gone:
            file.unlink()
        else:
            os.truncate(file, 10)
        _, log = process.communicate("http://a.example/a\n", timeout=120)
    assert process.returncode == 1, log
    (row,) = read(tmp_path / "summary.jl")
    assert row["key_outcome"] == "not-archived"
    if is_gone:
        told = f"1 record cannot be fetched: {file}: No such file or directory"
        assert log.splitlines()[-2:] == [told, "1 key page: 1 not-archived"]
        assert told in row["hint"]
    else:
        assert "1 not-archived; 1 record not as the index says" in log.splitlines()[-1]


def is_indexed(index: Path) -> bool:
    with suppress(ValueError), WarcIndex(index, read_only=True) as found:
        return bool(found.files())
    return False


@pytest.mark.crawl
@pytest.mark.quick
def test_as_a_person_runs_it_on_all_cores(tmp_path: Path) -> None:
    warc(tmp_path / "x.warc.gz")
    done = run_scrapy(
        "archive", str(tmp_path), "--every", "4", "-O", str(tmp_path / "two.jl"),
        "--template", str(tmp_path / "t.jl"), "--workers", "2", folder=tmp_path,
    )  # fmt: skip
    assert (done.code, done.log) == (0, "12 key pages: 3 complete, 9 partial\n")
    assert archive(tmp_path / "x.warc.gz", "--every", 4, "-O", tmp_path / "one.jl") == 0
    assert (tmp_path / "one.jl").read_bytes() == (tmp_path / "two.jl").read_bytes()
    assert len(read(tmp_path / "t.jl")) == 12


@pytest.mark.crawl
def test_killed_and_gone_on_with(tmp_path: Path) -> None:
    hosts = [f"http://h{n}.example" for n in range(150)]
    file = warc(tmp_path / "x.warc.gz", hosts)
    command = [
        sys.executable, "-m", "scrapy", "archive", str(file), "--every", "2",
        "-O", str(tmp_path / "out.jl"), "--template", str(tmp_path / "t.csv"),
        "--workers", "2", "-s", f"JOBDIR={tmp_path / 'job'}",
    ]  # fmt: skip
    for rows in (5, 60):
        process = subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.DEVNULL)
        end = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < end:
            if (tmp_path / "out.jl").exists() and len(read_whole(tmp_path / "out.jl")) >= rows:
                break
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, check=False, timeout=120)
    assert done.returncode == 0
    told = ("--every", 2, "-O", tmp_path / "2.jl", "--template", tmp_path / "2.csv")
    assert archive(file, *told) == 0
    assert (tmp_path / "out.jl").read_bytes() == (tmp_path / "2.jl").read_bytes()
    assert (tmp_path / "t.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    assert (tmp_path / NAME).exists()


def read_whole(path: Path) -> list[str]:
    return [line for line in path.read_text("utf-8").splitlines(keepends=True) if line[-1] == "\n"]


@pytest.mark.crawl
def test_whoever_reads_the_rows_has_enough(tmp_path: Path) -> None:
    """That is fine where there are no other files, which would lack rows."""
    file = warc(tmp_path / "x.warc.gz")
    command = [sys.executable, "-m", "scrapy", "archive", str(file), "--every", "2", "-O", "-:jl"]
    for more, status in (([], 0), (["--summary", str(tmp_path / "summary.jl")], 1)):
        read_end, write_end = os.pipe()
        os.close(read_end)
        done = subprocess.run(
            [*command, *more],
            cwd=PROJECT,
            stdout=write_end,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        os.close(write_end)
        assert done.returncode == status, done.stderr
        assert ("standard output was closed" in done.stderr) == bool(status)

"""``scrapy strip`` as a person runs it: rows, refusals, early ends, full disks."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from tests.support.crawls import PROJECT, run_scrapy
from tests.support.full_disk import files_of_at_most
from tests.support.saved_folders import own_text, save, save_site
from tests.support.template_site import CONTENT, pages_of, routes_of
from tests.support.terminal import on_terminal
from tests.test_outputs import snapshot
from tplspider.commands.strip import Command
from tplspider.old.crawl.strip.plan import plan_strip
from tplspider.old.crawl.strip.run import run_strip

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.crawls import Crawl, FixtureServer

pytestmark = pytest.mark.crawl  # processes of their own

STRIP = (sys.executable, "-m", "scrapy", "strip")


def strip(*arguments: object, settings: dict[str, str] | None = None) -> Crawl:
    done = run_scrapy("strip", *map(str, arguments), folder=Path(), settings=settings)
    assert "Traceback" not in done.log
    return done


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def mixed_folder(folder: Path) -> Path:
    """Two sites and what else may lie about."""
    for number in range(30):
        save(folder / "www.example.org" / f"{number % 4}" / f"{number}.html", number, menu="Blue")
        save(folder / "example.net" / f"{number}.html", number, menu="=Red")
    (folder / "notes.txt").write_text("nothing")
    (folder / "example.net" / "empty.html").touch()
    os.mkfifo(folder / "pipe")
    return folder


def test_the_same_rows_whoever_makes_them(tmp_path: Path) -> None:
    """With one process or four, and in every format."""
    folder = mixed_folder(tmp_path / "mirror")
    one, four = tmp_path / "one.jl", tmp_path / "four.jl"
    for out, workers in ((one, 1), (four, 4)):
        done = strip(folder, "-O", out, "--workers", workers)
        said = "63 files: 60 stripped, 1 empty, 1 not-html, 1 special\n"
        assert (done.code, done.stdout, done.log) == (0, "", said)
    assert one.read_bytes() == four.read_bytes()
    rows = read(one)
    assert [row["path"] for row in rows] == sorted(
        (row["path"] for row in rows), key=lambda path: path.split("/")
    )
    texts = {row["path"]: row["main_text"] for row in rows}
    assert texts["www.example.org/3/7.html"] == own_text(7)
    assert texts["notes.txt"] == ""


def test_formats(tmp_path: Path) -> None:
    folder = mixed_folder(tmp_path / "mirror")
    (folder / "=cmd.html").write_text("<title>+1</title><p>@SUM(1)")
    settings = {"TPLSPIDER_EXTRACT_WORKERS": "0"}
    for name in ("out.jl", "out.json", "out.CSV", "sub/out.jsonl"):
        assert strip(folder, "-O", tmp_path / name, "--html", settings=settings).code == 0
    rows = read(tmp_path / "out.jl")
    assert "main_html" in rows[0]
    assert json.loads((tmp_path / "out.json").read_bytes()) == rows
    assert (tmp_path / "sub" / "out.jsonl").read_bytes() == (tmp_path / "out.jl").read_bytes()
    with (tmp_path / "out.CSV").open(encoding="utf-8", newline="") as file:
        cells = [*csv.DictReader(file)]
    assert [cell["url"] for cell in cells] == [row["url"] for row in rows]
    assert (cells[0]["path"], cells[0]["title"]) == ("'=cmd.html", "'+1")
    assert cells[0]["main_text"] == "'@SUM(1)"
    assert [cell["evidence"] for cell in cells[1:]] == [
        "" if row["evidence"] is None else str(row["evidence"]) for row in rows[1:]
    ]
    printed = strip(folder, "-O", "-:jl", "--html", settings=settings)
    assert printed.code == 0
    assert printed.stdout == (tmp_path / "out.jl").read_text("utf-8")


def fault(*arguments: object, settings: dict[str, str] | None = None) -> str:
    """What is wrong with the arguments of the command, in one line."""
    command = Command()
    command.settings = Settings({"TPLSPIDER_EXTRACT_WORKERS": "1", **(settings or {})})
    parser = ArgumentParser()
    command.add_options(parser)
    given, rest = parser.parse_known_args([*map(str, arguments)])
    with pytest.raises(ValueError, match=r"\w") as raised:
        run_strip(plan_strip(rest, given, command.settings), 0)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.quick
def test_what_is_refused_changes_nothing(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 2)
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "sub").mkdir()
    (tmp_path / "old.jl").write_text("rows of yesterday")
    (tmp_path / "full.jl").symlink_to("/dev/full")
    (tmp_path / "folder.jl").mkdir()
    before = snapshot(tmp_path)
    out = ("-O", tmp_path / "old.jl")
    faults = [
        ((tmp_path / "nothing", *out), "there is no such folder"),
        ((folder / "page-0.html", *out), "it is not a folder"),
        ((tmp_path / "empty", *out), "there is no file in it"),
        (("x" * 5000, *out), "cannot be read (File name too long)"),
        ((folder,), "and -O FILE for the rows"),
        ((folder, folder, *out), "give one folder"),
        (out, "give one folder"),
        ((folder, "-O", tmp_path / "rows.xml"), "expected a file that ends in one of ('csv',"),
        ((folder, "-O", tmp_path / "rows"), "expected a file that ends in one of"),
        ((folder, "-O", tmp_path / "full.jl"), "cannot write to this file (No space left"),
        ((folder, "-O", tmp_path / "folder.jl"), "cannot write to this file (Is a directory)"),
        ((folder, "-O", "https://example.org/a.jl"), "expected a local file or folder"),
        ((folder, "-o", tmp_path / "rows.jl"), "did you mean -O?"),
        ((folder, *out, "--workers", "many"), "--workers 'many': expected a whole number"),
        ((folder, *out, "--workers=-1"), "--workers '-1': expected a whole number"),
        ((folder, *out, "--base-url", "ftp://example.org"), "ftp: is neither http nor https"),
        ((folder, *out, "--base-url", "http://a.org/?q=1"), "without ? and #"),
        ((folder, *out, "--pool", folder / "page-0.html"), "cannot write to this folder"),
    ]
    for arguments, why in faults:
        assert why in fault(*arguments), arguments
    settings = {
        "TPLSPIDER_EXTRACT_MB": ("few", "TPLSPIDER_EXTRACT_MB='few'"),
        "TPLSPIDER_EXTRACT_MG": ("1", "did you mean TPLSPIDER_EXTRACT_MB?"),
    }
    for name, (value, why) in settings.items():
        assert why in fault(folder, *out, settings={name: value})
    assert snapshot(tmp_path) == before


@pytest.mark.quick
@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("127.0.0.1:8102", "http://127.0.0.1:8102"),
        ("localhost/a", "http://localhost/a"),
        ("example.org/a", "https://example.org/a"),
        ("https://localhost:8102/", "https://localhost:8102/"),
    ],
)
def test_a_base_without_a_scheme(tmp_path: Path, given: str, meant: str) -> None:
    (tmp_path / "pages").mkdir()
    options = Namespace(rows=str(tmp_path / "x.jl"), base_url=given, markdown=False, html=False)
    options.pool = options.workers = options.index = options.cdxj = None
    assert plan_strip([str(tmp_path / "pages")], options, Settings()).base_url == meant


def test_a_refusal_is_one_line(tmp_path: Path) -> None:
    for arguments in ((tmp_path / "nothing", "-O", "rows.jl"), (tmp_path, "-O", "rows.jl"), ()):
        done = strip(*arguments)
        assert (done.code, done.stdout, done.log.count("\n")) == (2, "", 1), done.log
        assert done.log.startswith("scrapy strip: error: ")
    assert not (PROJECT / "rows.jl").exists()


@pytest.mark.quick
def test_a_folder_of_anything_but_pages(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\1")
    done = strip(tmp_path, "-O", tmp_path / "out.csv")
    assert (done.code, done.log) == (0, "3 files: 3 not-html\n")
    assert (tmp_path / "out.csv").read_text().count("not-html") == 3


def test_the_output_is_not_an_input(tmp_path: Path) -> None:
    """Wherever it is, also by a link, also as standard output."""
    folder = save_site(tmp_path / "site", 3)
    (tmp_path / "link.jl").symlink_to("site/rows.jl")
    for name in ("site/rows.jl", "site/rows.jl", "link.jl"):
        assert strip(folder, "-O", tmp_path / name).code == 0
    assert [row["path"] for row in read(folder / "rows.jl")] == [
        f"page-{number}.html" for number in range(3)
    ]
    rows = (folder / "rows.jl").read_bytes()
    with (folder / "rows.jl").open("wb") as file:
        subprocess.run([*STRIP, folder, "-O", "-:jl"], cwd=PROJECT, stdout=file, check=True)
    assert (folder / "rows.jl").read_bytes() == rows


def test_pages_that_were_saved_by_a_crawl(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    server = serve("menu", routes_of(pages_of()))
    assert crawl(f"{server.url}/", save_html=tmp_path / "pages").code == 0
    assert strip(tmp_path / "pages", "-O", tmp_path / "rows.jl").code == 0
    rows = {row["path"]: row for row in read(tmp_path / "rows.jl")}
    manifest = rows.pop("manifest.json")
    assert (manifest["outcome"], manifest["url"]) == ("not-html", "")
    assert rows["key.html"]["url"] == f"{server.url}/"
    assert {row["url"].rpartition("/")[2]: row["main_text"] for row in rows.values()} == CONTENT


@pytest.mark.skipif(not shutil.which("wget"), reason="wget is not installed")
@pytest.mark.parametrize("options", [(), ("--restrict-file-names=windows", "--adjust-extension")])
def test_a_mirror_by_wget(
    serve: Callable[..., FixtureServer], tmp_path: Path, options: tuple[str, ...]
) -> None:
    pages = pages_of()
    more = "<p><a href='/d?x=1&y=2'>More</a></p>"
    pages[""] = pages[""].replace(b"</body>", more.encode() + b"</body>")
    server = serve("menu", routes_of({**pages, "d?x=1&y=2": pages["a"].replace(b"apple", b"pear")}))
    command = ["wget", "-q", "-r", "-e", "robots=off", "--no-proxy", *options, f"{server.url}/"]
    subprocess.run(command, cwd=tmp_path, check=False, timeout=60)
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("127.0.0.1")
    assert strip(tmp_path, "-O", tmp_path / "rows.jl").code == 0
    pages_found = [row for row in read(tmp_path / "rows.jl") if row["outcome"] == "page"]
    names = {"a", "b", "c"} if not options else {"a.html", "b.html", "c.html"}
    assert {row["url"] for row in pages_found} == {
        f"{server.url}/{name}" for name in {"", "d?x=1&y=2", *names}
    }
    texts = {row["url"].rpartition("/")[2].removesuffix(".html"): row for row in pages_found}
    assert texts["b"]["main_text"] == CONTENT["b"]


def test_pages_that_take_too_much(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 3)
    large = "".join(f"<div class=c{number}><p>{number}</p></div>" for number in range(60_000))
    (folder / "page-1.html").write_text(f"<html><body>{large}")
    done = strip(
        folder, "-O", tmp_path / "a.jl", "-s", "TPLSPIDER_EXTRACT_SECONDS=0.05", "--workers", 2
    )
    assert done.code == 1
    assert [row["outcome"] for row in read(tmp_path / "a.jl")][1] == "timeout"
    assert "page-1.html: it takes more than 0.05 s\n" in done.log
    done = strip(folder, "-O", tmp_path / "b.jl", "-s", "TPLSPIDER_EXTRACT_MB=120")
    assert done.code == 1
    outcomes = [row["outcome"] for row in read(tmp_path / "b.jl")]
    assert outcomes[1] == "out-of-memory"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("ending", ["json", "csv"])
def test_ended_by_a_signal(tmp_path: Path, number: signal.Signals, ending: str) -> None:
    """What is there by then is kept, in good form, and the exit status tells that it is not all."""
    folder = save_site(tmp_path / "site", 3000)
    out = tmp_path / f"rows.{ending}"
    with subprocess.Popen(
        [*STRIP, folder, "-O", out], cwd=PROJECT, stderr=subprocess.PIPE, text=True
    ) as process:
        while not out.exists() or out.stat().st_size < 5000:
            assert process.poll() is None
            time.sleep(0.02)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert children
        process.send_signal(number)
        said = process.communicate(timeout=20)[1]
    assert process.returncode == 1
    if ending == "json":
        rows = json.loads(out.read_bytes())
    else:
        with out.open(encoding="utf-8", newline="") as file:
            rows = [*csv.DictReader(file)]
    assert 0 < len(rows) < 3000
    how_far = f"{len(rows)} of 3000 rows written to {out}"
    assert said == f"scrapy strip: ended before all files were done: {how_far}\n"
    assert [row["path"] for row in rows] == sorted(f"page-{n}.html" for n in range(3000))[
        : len(rows)
    ]
    assert not any(is_alive(int(child)) for child in children)


def is_alive(pid: int) -> bool:
    for _ in range(50):
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return False
        if state == "Z":
            return False
        time.sleep(0.1)
    return True


def test_a_worker_that_dies_costs_one_page(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 200)
    out = tmp_path / "rows.jl"
    with subprocess.Popen(
        [*STRIP, folder, "-O", out, "--workers", "1"],
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not out.exists() or not out.stat().st_size:
            assert process.poll() is None
            time.sleep(0.01)
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(child), signal.SIGSTOP)
        time.sleep(0.3)  # by then it has a page to do
        os.kill(int(child), signal.SIGKILL)
        said = process.communicate(timeout=60)[1]
    rows = read(out)
    lost = [row["path"] for row in rows if row["outcome"] != "page"]
    assert (process.returncode, len(rows), len(lost)) == (1, 200, 1)
    assert said.splitlines() == [
        f"{lost[0]}: the worker died: it was killed by SIGKILL",
        "200 files: 199 stripped, 1 crashed",
    ]
    assert {row["evidence"] for row in rows if row["outcome"] == "page"} == {3}


def test_ended_before_the_first_row(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 3000)
    out = tmp_path / "rows.jl"
    out.write_text("rows of yesterday")
    with subprocess.Popen(
        [*STRIP, folder, "-O", out, "-s", "LOGSTATS_INTERVAL=0.01"],
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr
        first = process.stderr.readline()
        process.terminate()
        said = process.communicate(timeout=20)[1]
    assert "files" in first
    assert process.returncode == 1
    assert said.endswith("ended before all files were done: nothing is written\n")
    assert out.read_text() == "rows of yesterday"


@pytest.mark.parametrize("ending", ["jl", "json", "csv"])
def test_a_disk_that_is_full(tmp_path: Path, ending: str) -> None:
    """Rows that were written are whole, and the exit status tells that they are not all."""
    folder = save_site(tmp_path / "site", 50)
    out = tmp_path / f"rows.{ending}"
    size = 5000
    done = subprocess.run(
        [*STRIP, folder, "-O", out, "--workers", "1"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=files_of_at_most(size),
    )
    text = out.read_text("utf-8")
    if ending == "json":
        rows = json.loads(text)
    elif ending == "jl":
        rows = read(out)
    else:
        rows = [*csv.DictReader(text.splitlines())]
    assert 5 < len(rows) < 50
    assert done.stderr.splitlines()[-1] == (
        f"scrapy strip: {out} cannot be written: File too large; {len(rows)} of 50 rows written"
        f" to {out}"
    )
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)


def test_a_reader_that_has_enough(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 500)
    with subprocess.Popen(
        [*STRIP, folder, "-O", "-:jl"], cwd=PROJECT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout
        assert process.stderr
        assert b"page-0.html" in process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert (process.returncode, said) == (0, b"")


def test_progress_on_a_terminal(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 400)
    shown = on_terminal("-m", "scrapy", "strip", str(folder), "-O", str(tmp_path / "rows.jl"))
    assert shown.code == 0
    assert "stripped " in shown.text
    assert "/400 |" in shown.text
    assert [line for line in shown.screen if line] == ["400 files: 400 stripped"]


def test_a_large_page_among_others(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 4)
    words = (f"<p>Paragraph {number} of many, each of which is its own.</p>" for number in count())
    size, parts = 0, []
    while size < 9_900_000:
        parts.append(next(words))
        size += len(parts[-1])
    save(folder / "large.html", 5)
    text = (folder / "large.html").read_text().replace("<div id=foot>", f"{''.join(parts)}<div>")
    (folder / "large.html").write_text(text)
    done = strip(folder, "-O", tmp_path / "rows.jl")
    rows = {row["path"]: row for row in read(tmp_path / "rows.jl")}
    assert rows["page-1.html"]["main_text"] == own_text(1)
    assert rows["large.html"]["outcome"] == "page"
    assert rows["large.html"]["main_text"].startswith(own_text(5))
    assert (done.code, rows["large.html"]["evidence"]) == (0, 3)

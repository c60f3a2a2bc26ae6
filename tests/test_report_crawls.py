"""Reports that crawls write: where, when, and what is left of them when a crawl is killed."""

from __future__ import annotations

import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pytest
from lxml import html

from tests.support.crawls import PROJECT, SETTINGS, Crawl, run_scrapy
from tests.support.template_site import CONTENT, page, pages_of, routes_of
from tests.test_many import KEYS, key_pages, rows
from tplspider.report.files import ReportFolder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import FixtureServer
    from tplspider.demo.server import Handler

PAGE = re.compile(r"[0-9a-f]{16}\.html")


def crawl_list(
    folder: Path, urls: Path, *more: str, settings: dict[str, str] | None = None
) -> Crawl:
    return run_scrapy(
        *("crawl", "template_candidates", f"-aurls={urls}", f"-areport={folder / 'reports'}"),
        *(f"-asummary={folder / 'summary.jl'}", *more),
        folder=folder,
        settings=settings,
    )


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def tree_of(file: Path) -> Any:
    return html.fromstring(file.read_bytes())


def listed(folder: Path) -> list[str]:
    """The reports that the index leads to, as often as it does."""
    tree = tree_of(folder / "index.html")
    return sorted(name for name in tree.xpath("//a/@href") if PAGE.fullmatch(name))


def errors(log: str) -> list[str]:
    return [line.partition("] ERROR: ")[2] for line in log.splitlines() if "ERROR:" in line]


def test_one_key_page(
    tmp_path: Path, serve: Callable[..., FixtureServer], crawl: Callable[..., Crawl]
) -> None:
    server = serve("menu", routes_of(pages_of()))
    file = tmp_path / "new" / "report.html"
    done = crawl(f"{server.url}/", report=file)
    assert done.code == 0, done.log
    assert f"Report: {tmp_path}/new/report.html" in done.log
    assert "'tplspider/reports': 1" in done.log
    assert names_in(tmp_path / "new") == {"report.html"}
    text = tree_of(tmp_path / "new" / "report.html").text_content()
    assert all(url in text for url in done.summary["candidates"])
    # Who asks for a report alone pays for no template.
    assert server.pages_asked == ["/", "/a", "/b", "/c"]


def test_with_a_text(
    tmp_path: Path, serve: Callable[..., FixtureServer], crawl: Callable[..., Crawl]
) -> None:
    pages = pages_of(more="<script>alert(1)</script><img src=/x.png alt=x>")
    server, file = serve("menu", routes_of(pages)), tmp_path / "t.json"
    done = crawl(f"{server.url}/", report=tmp_path / "r.html", texts=file)
    assert done.code == 0, done.log
    (template,) = json.loads(file.read_bytes())
    assert CONTENT[""] in template["key_html"]
    assert "alert" not in template["key_html"]
    report = tree_of(tmp_path / "r.html")
    assert CONTENT[""] in report.text_content()
    assert len(report.xpath("//iframe")) == 1
    # What is made of the feeds afterwards is the same.
    again = tmp_path / "again.html"
    feeds = (str(tmp_path / "summary.json"), f"--template={file}")
    assert run_scrapy("report", *feeds, f"-O{again}", folder=tmp_path).code == 0
    assert again.read_bytes() == (tmp_path / "r.html").read_bytes()
    assert crawl(f"{server.url}/", texts=file).code == 0
    assert json.loads(file.read_bytes()) == [{**template, "key_html": ""}]


def test_a_template_that_comes_later_than_the_summary(
    tmp_path: Path, serve: Callable[..., FixtureServer], crawl: Callable[..., Crawl]
) -> None:
    server = serve("menu", routes_of(pages_of()))
    pipelines = {"tests.support.components.SlowTemplates": 100}
    settings = {"ITEM_PIPELINES": json.dumps(pipelines), "TPLSPIDER_TEXTS": "True"}
    done = crawl(f"{server.url}/", settings, report=tmp_path / "r.html")
    assert done.code == 0, done.log
    assert CONTENT[""] in tree_of(tmp_path / "r.html").text_content()


def test_a_list(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server, urls = serve("menu"), tmp_path / "keys.txt"
    pages = key_pages(server)
    again, missing, bad = f"{pages[0]}#again", f"{server.url}/missing.html", "ftp://x/"
    urls.write_text("\n".join([*pages, again, missing, bad]))
    for _ in range(2):
        done = crawl_list(tmp_path, urls, "-atexts=" + str(tmp_path / "t.jl"))
        assert done.code == 1  # for the bad line
        assert f"{tmp_path}/reports/index.html" in done.log
        summaries = rows(tmp_path / "summary.jl")
        names = sorted({f"{row['search_id']}.html" for row in summaries if row["search_id"]})
        assert len(names) == 5
        assert listed(tmp_path / "reports") == names
        assert {*names, "index.html"} <= names_in(tmp_path / "reports")
        index = tree_of(tmp_path / "reports" / "index.html")
        assert len(index.xpath("//tbody/tr")) == 6  # the bad line has a row, and no page
        for row in summaries:
            if row["key_outcome"] == "ok":
                report = tree_of(tmp_path / "reports" / f"{row['search_id']}.html")
                assert row["key_url"] in report.text_content()
                assert len(report.xpath("//iframe")) == 1  # also where a line asked once more


def test_what_is_in_the_folder_stays(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    pages, urls = key_pages(serve("menu")), tmp_path / "keys.txt"
    for url in pages[:2]:
        urls.write_text(url)
        assert crawl_list(tmp_path, urls).code == 0
    assert len(listed(tmp_path / "reports")) == 2
    with closing(ReportFolder(tmp_path / "reports")):
        done = crawl_list(tmp_path, urls)
    assert done.code == 2
    assert "another crawl or report is writing to this folder" in done.log


def test_a_library_and_several_addresses(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    server = serve("menu", routes_of(pages_of()))
    done = run_scrapy(
        *("text", f"{server.url}/", f"{server.url}/a", f"--report={tmp_path / 'reports'}"),
        folder=tmp_path,
    )
    assert done.code == 0, done.log
    assert len(listed(tmp_path / "reports")) == 2


def killed_and_resumed(folder: Path, server: FixtureServer, moments: list[float]) -> None:
    """Crawl a list with a JOBDIR, killed at *moments*, until it is done."""
    urls, reports = folder / "keys.jl", folder / "reports"
    names = [f"{server.url}/docs/guide/{name}.html" for name in KEYS]
    lines = [{"url": url, "tpl_n": n} for n in (1, 2, 3, 4) for url in names]
    urls.write_text("".join(json.dumps(line) + "\n" for line in lines))
    command = [
        *(sys.executable, "-m", "scrapy", "crawl", "template_candidates", f"-aurls={urls}"),
        *(f"-asummary={folder / 'summary.jl'}", f"-areport={reports}"),
        *(f"-s{name}={value}" for name, value in SETTINGS.items()),
        *(f"-sJOBDIR={folder / 'job'}", "-sDOWNLOAD_DELAY=0.02", "-sTPLSPIDER_SEARCHES=3"),
    ]
    for moment in moments:
        with subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.DEVNULL) as process:
            time.sleep(moment)
            process.send_signal(signal.SIGKILL)
        if reports.exists():
            assert all(whole(path) for path in reports.glob("*.html"))
            assert {f"{name}.html" for name in searches_done(folder / "job")} <= names_in(reports)
    done_at_last = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, timeout=120, check=False
    )
    assert done_at_last.returncode == 0, done_at_last.stderr


def searches_done(job: Path) -> list[str]:
    """What the journal of a crawl that was killed calls done."""
    with closing(sqlite3.connect(job / "tplspider.sqlite")) as journal:
        return [name for (name,) in journal.execute("SELECT search_id FROM searches")]


def whole(path: Path) -> bool:
    return path.read_text().rstrip().endswith("</html>")


def test_killed_and_resumed(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu")
    for name, moments in {"whole": [], "parts": [0.9, 1.2, 1.0, 1.4]}.items():
        (tmp_path / name).mkdir()
        killed_and_resumed(tmp_path / name, server, moments)
    here, there = tmp_path / "parts" / "reports", tmp_path / "whole" / "reports"
    assert len(listed(there)) == 16
    assert listed(here) == listed(there)
    for name in listed(there):
        assert (here / name).read_bytes() == (there / name).read_bytes()
    assert names_in(here) >= names_in(there)


def test_another_folder_with_a_journal(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    url = key_pages(serve("menu"))[0]
    settings = {"JOBDIR": str(tmp_path / "job")}
    for name, code in (("reports", 0), ("other", 2), ("reports", 0)):
        done = run_scrapy(
            *("crawl", "template_candidates", f"-aurl={url}", f"-areport={tmp_path / name}"),
            folder=tmp_path,
            settings=settings,
        )
        assert done.code == code, done.log
    assert len(listed(tmp_path / "reports")) == 1
    assert not (tmp_path / "other").exists()


def test_a_job_writes_inside_its_folder(
    tmp_path: Path, serve: Callable[..., FixtureServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "settings.scrapyd")
    monkeypatch.setenv("TPLSPIDER_FEEDS_DIR", str(tmp_path / "feeds"))
    url = f"-aurl={serve('menu', routes_of(pages_of())).url}/"
    for name, code in (("../r.html", 2), (str(tmp_path / "r.html"), 2), ("sub/r.html", 0)):
        done = run_scrapy(
            *("crawl", "template_candidates", url, f"-areport={name}", "-a_job=job"),
            folder=tmp_path,
            settings={"TPLSPIDER_ALLOW_PRIVATE": "True"},
        )
        assert done.code == code, done.log
    assert names_in(tmp_path) == {"feeds"}
    assert names_in(tmp_path / "feeds" / "sub") == {"r.html"}


def test_a_folder_that_is_gone(
    tmp_path: Path, serve: Callable[..., FixtureServer], crawl: Callable[..., Crawl]
) -> None:
    pages, folder = pages_of(), tmp_path / "folder"

    def meddle(request: Handler) -> None:
        rmtree(folder)
        folder.write_text("")
        request.answer(200, pages["a"], Content_Type="text/html")

    server = serve("menu", {**routes_of(pages), "/a": meddle})
    for name in ("r.html", "reports"):
        folder.unlink(missing_ok=True)
        folder.mkdir()
        done = crawl(f"{server.url}/", report=folder / name)
        assert done.code == 1
        assert "Traceback" not in done.log
        lines = errors(done.log)
        assert len(lines) <= 2
        assert "report" in lines[0]
        assert done.summary["complete"]


def test_a_report_that_is_lost_is_made_at_another_start(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    pages, reports = pages_of(), tmp_path / "reports"
    urls = tmp_path / "keys.txt"

    def meddle(request: Handler) -> None:
        if not (tmp_path / "meddled").exists():
            (tmp_path / "meddled").touch()
            reports.write_text("")
        request.answer(200, pages["a"], Content_Type="text/html")

    server = serve("menu", {**routes_of(pages), "/a": meddle})
    urls.write_text(f"{server.url}/")
    settings = {"JOBDIR": str(tmp_path / "job")}
    done = crawl_list(tmp_path, urls, settings=settings)
    assert done.code == 1
    assert "Traceback" not in done.log
    assert "report" in errors(done.log)[0]
    assert rows(tmp_path / "summary.jl") == []
    reports.unlink()
    done = crawl_list(tmp_path, urls, settings=settings)
    assert done.code == 0, done.log
    assert len(rows(tmp_path / "summary.jl")) == 1
    assert len(listed(reports)) == 1


EVIL = "</title><script>alert(1)</script><img src=x onerror=alert(1)>\"'&lt;b&gt; \u202eevil"


def test_hostile_words(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    """No markup of theirs comes out, in report or index."""
    text = EVIL.replace("&", "&amp;").replace("<", "&lt;")
    pages = pages_of(menu=text, more="<script>alert(1)</script><svg onload=alert(1)></svg>")
    pages |= {"x%22%3E%3Cscript%3Ealert(1)%3C%2Fscript%3E": page(CONTENT["a"], menu=text)}
    server, urls = serve("menu", routes_of(pages)), tmp_path / "keys.txt"
    urls.write_text("\n".join(f"{server.url}/{name}" for name in pages))
    done = crawl_list(tmp_path, urls, settings={"TPLSPIDER_TEXTS": "True"})
    assert done.code == 0, done.log
    reports = listed(tmp_path / "reports")
    assert len(reports) == len(pages)
    for name in ("index.html", *reports):
        tree = tree_of(tmp_path / "reports" / name)
        assert all("alert" not in (script.text or "") for script in tree.iter("script"))
        assert not tree.xpath("//img | //*[@onerror] | //*[@onload]")
        assert all(
            re.match(r"https?://|#|[0-9a-f]{16}\.html|index\.html", href)
            for href in tree.xpath("//a/@href")
        )
        for frame in tree.iter("iframe"):
            inside: Any = html.fromstring(frame.get("srcdoc"))
            assert not inside.xpath("//script | //img | //@onload | //@onerror")


@pytest.mark.crawl
def test_the_demo(tmp_path: Path) -> None:
    def run(*options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "scrapy", "demo", *options],
            cwd=tmp_path,
            env={
                **os.environ,
                "PYTHONPATH": str(PROJECT),
                "SCRAPY_SETTINGS_MODULE": "settings.default",
                **environment,
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    done = run()
    assert (done.returncode, done.stderr) == (0, "")
    assert f"A report to look at: {tmp_path}/demo-report.html\n" in done.stdout
    report = tree_of(tmp_path / "demo-report.html")
    assert "penny-farthing" in report.text_content()
    (tmp_path / "file").write_text("")
    done = run("--report", "file/x.html")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1


def test_the_text_and_its_report(tmp_path: Path, serve: Callable[..., FixtureServer]) -> None:
    server = serve("menu", routes_of(pages_of()))
    done = run_scrapy("text", f"{server.url}/", f"--report={tmp_path / 'r.html'}", folder=tmp_path)
    assert (done.code, done.stdout) == (0, CONTENT[""] + "\n"), done.log
    tree = tree_of(tmp_path / "r.html")
    assert len(tree.xpath("//iframe")) == 1

"""The exit statuses, and what is lost: an ERROR line each, the rest complete."""

import os
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path
from random import Random

import pytest

from tests.support.crawls import CRAWL, RunCrawl, Serve, files_of_at_most, run_scrapy, start_scrapy
from tests.support.kinds import with_quick
from tests.support.template_site import pages_of, routes_of, save_site
from tests.support.warc_files import records
from tests.test_outputs import snapshot

KEY = "/docs/guide/four.html"
# More than a summary, which cuts titles; less than three candidates with long ones.
LIMIT = 7000


@pytest.mark.parametrize(
    ("fail", "path", "n", "code"),
    [
        ("unusable", "/missing.html", 3, 3),
        ("unusable", KEY, 50, 0),
        ("incomplete", KEY, 50, 3),
        ("", "/missing.html", 3, 0),
    ],
)
def test_failures_by_setting(
    crawl: RunCrawl, serve: Serve, fail: str, path: str, n: int, code: int
) -> None:
    done = crawl(serve("menu").url + path, {"TPLSPIDER_FAIL": fail}, n=n)
    assert done.code == code
    assert done.summary["requested_size"] == n


# Commands, and words of their messages. Those in capitals are filled in.
WRONG_USE = {
    "crawl template_candidates": "url",
    "crawl template_candidates -aurl=URL -ann=3 -OFOLDER/o.json": "'nn'",
    "crawl template_candidates -aurl=URL -sTPLSPIDER_ALOW_PRIVATE=0": "ALLOW",
    "crawl template_candidates -aurl=URL -sTPLSPIDER_EXTRACTOR=tplspider.f": "TPLSPIDER_EXTRACTOR",
    "crawl template_candidates -aurl=URL -oFOLDER:jl": "FOLDER",
    "crawl template_candidates -aurl=URL -asave_html=FOLDER/site": "page-0.html",
    "crawl template_candidates -aurls=FOLDER/keys.txt -OFOLDER/o.json -sJOBDIR=FOLDER/j": "JOBDIR",
    "crawl template_candidates -aurls=FOLDER/keys.txt -O-:jl -sJOBDIR=FOLDER/job": "JOBDIR",
    "crawl template_strip -asource=FOLDER/site -asourse=x -OFOLDER/o.jl": "sourse",
    "text": "address",
    "text URL --texts": "'--texts'",
    "text URL -n 0": "n: ",
    "text URL -i FOLDER/keys.txt": "-i",
    "text -i FOLDER/missing.txt": "urls: ",
    "text URL --html --markdown": "--markdown",
    "text URL --explain --html": "--explain",
    "text URL --pool FOLDER/missing": "--pool",
    "archive FOLDER/1.warc -i FOLDER/keys.txt": "-O",
    "archive FOLDER/1.warc -i FOLDER/keys.txt -O FOLDER/o.jl --every 3": "--every",
    "archive FOLDER/no.warc -i FOLDER/keys.txt -O FOLDER/o.jl": "no.warc",
    "archive FOLDER/1.warc -i FOLDER/keys.txt -O FOLDER/o.jl --index FOLDER/keys.txt": "keys.txt",
    "strip FOLDER/nothing -O FOLDER/old.jl": "nothing",
    "strip FOLDER/empty -O FOLDER/old.jl": "empty",
    "strip FOLDER/site": "-O",
    "strip FOLDER/site -O FOLDER/old.jl --workers many": "workers",
    "strip FOLDER/1.warc -O FOLDER/old.jl --base-url example.org": "base_url",
    "strip FOLDER/site -O FOLDER/old.jl -sTPLSPIDER_EXTRACT_MB=few": "TPLSPIDER_EXTRACT_MB",
    "report FOLDER/none.json -O FOLDER/a.html": "none.json",
    "report FOLDER/old.jl": "-O",
    "shard FOLDER/keys.txt -O FOLDER/site --count 3": "site",
    "shard FOLDER/keys.txt -O FOLDER/new": "--count",
    "shard FOLDER/keys.txt -O FOLDER/new --count 0": "--count",
    "shard FOLDER/none.txt -O FOLDER/new --count 3": "none.txt",
    "demo URL": "unexpected",
    "ui URL": "URL",
    "ui --dir FOLDER/ui --profile none": "none",
    "ui --dir /dev/null/x": "/dev/null/x",
    "ui --dir FOLDER/ui -sTPLSPIDER_NONE=1": "TPLSPIDER_NONE",
    "ui --dir FOLDER/ui --port TAKEN": "TAKEN",
}


@pytest.mark.parametrize("given", with_quick(WRONG_USE, *[*WRONG_USE][4::6]))
def test_wrong_use_is_one_line(serve: Serve, tmp_path: Path, given: str) -> None:
    """Nothing is requested, and no file is changed."""
    server = serve("menu")
    save_site(tmp_path / "site", 2)
    (tmp_path / "empty" / "sub").mkdir(parents=True)
    for name, text in {"keys.txt": server.url, "old.jl": "yesterday", "1.warc": ""}.items():
        (tmp_path / name).write_text(text)
    before = snapshot(tmp_path)

    def filled(text: str) -> str:
        text = text.replace("URL", server.url).replace("FOLDER", str(tmp_path))
        return text.replace("TAKEN", server.url.rpartition(":")[2])

    words = filled(given).split()
    done = run_scrapy(*words, folder=tmp_path, settings={"LOG_LEVEL": "WARNING"})
    assert (done.code, done.stdout) == (2, "")
    (line,) = done.log.splitlines()
    assert line.startswith(f"scrapy {words[0]}: error: ")
    assert filled(WRONG_USE[given]) in line
    assert server.log == []
    shutil.rmtree(tmp_path / "ui", ignore_errors=True)
    assert {**snapshot(tmp_path), ".": before["."]} == before


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector"}, 0),
        ({"ITEM_PIPELINES": '{"tests.support.components.FailingPipeline": 300}'}, 1),
        ({"SPIDER_MIDDLEWARES": '{"tests.support.components.FailingMiddleware": 100}'}, 1),
        ({"ITEM_PIPELINES": '{"tests.support.components.WrongSizePipeline": 1}'}, 1),
    ],
)
def test_components_of_others(
    crawl: RunCrawl, serve: Serve, settings: dict[str, str], code: int
) -> None:
    """Items that are lost make the status 1, and nothing else does."""
    done = crawl(serve("menu").url + KEY, settings)
    assert done.code == code
    if code == 0:
        assert len(done.candidates) == 3
        assert done.summary["complete"]


def errors(log: str) -> list[str]:
    return [line.partition("] ERROR: ")[2] for line in log.splitlines() if "ERROR:" in line]


def long_titles() -> dict[str, bytes]:
    title = b'<meta charset="utf-8"><title>' + "題".encode() * 850
    # What is archived is compressed: noise stays as long as it is.
    noise = b"<!--" + b64encode(Random(0).randbytes(1500)) + b"-->"
    return {name: body.replace(b"<title>", noise + title) for name, body in pages_of().items()}


def test_a_disk_that_fills_up(serve: Serve, tmp_path: Path) -> None:
    url = serve("menu", routes_of(long_titles())).url
    lost = [tmp_path / f"out.{name}" for name in ("json", "jl", "csv", "xml")]
    process = start_scrapy(
        *(*CRAWL, f"-aurl={url}/", "-O-:jl", *(f"-O{path}" for path in lost)),
        *(f"-awarc={tmp_path / 'a.warc.gz'}", f"-asave_html={tmp_path / 'html'}"),
        stdout=subprocess.PIPE,
        preexec_fn=files_of_at_most(LIMIT),
    )
    out, log = process.communicate(timeout=120)
    assert process.returncode == 1
    found = errors(log)
    for path in (*lost, tmp_path / "a.warc.gz", tmp_path / "html"):
        assert len([line for line in found if str(path) in line]) == 1, found  # one line each
    assert len(found) == 6
    assert "Traceback" not in log
    assert not (tmp_path / "html" / "manifest.json").exists()
    # Each record that is there is whole: the last of them was taken off.
    assert len(records(tmp_path / "a.warc.gz")) > 3
    assert len(out.splitlines()) == 3  # what is not on the disk is whole


@pytest.mark.parametrize("command", ["crawl", "text", "list"])
def test_a_reader_that_has_gone(serve: Serve, tmp_path: Path, command: str) -> None:
    """It costs the rows of a feed, and ends the crawl of a list; of a text it has read enough."""
    server = serve("menu", routes_of(long_titles()))
    url, keys = server.url, tmp_path / "keys.txt"
    keys.write_text("".join(f"{url}/?key={number}\n" for number in range(60)))
    given = {
        "crawl": [*CRAWL, f"-aurl={url}/", "-O-:json"],
        "text": ["text", f"{url}/"],
        "list": ["text", "-i", str(keys)],
    }[command]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        process = start_scrapy(*given, stdout=stdout)
        _, log = process.communicate(timeout=120)
    assert [("standard output" in line) for line in errors(log)] == [True] * process.returncode
    assert process.returncode == (0 if command == "text" else 1)
    assert len(server.pages_asked) < 30
    assert "Exception ignored" not in log
    assert "Traceback" not in log


def test_a_link_that_vanishes(crawl: RunCrawl, serve: Serve) -> None:
    names = ["vanish", "menu/a.html", "vanish/too", "menu/b.html", "menu/c.html"]
    html = "".join(f"<p><a href='/{name}'>x</a></p>" for name in names).encode()
    kind = {"Content_Type": "text/html"}
    server = serve("hooks", {"/": lambda request: request.answer(200, html, **kind)})
    dropping = '{"tests.support.components.DroppingMiddleware": 100}'
    done = crawl(server.url + "/", settings={"SPIDER_MIDDLEWARES": dropping})
    assert done.code == 0
    reasons = [row["reason"] for row in done.summary["explored"]]
    assert reasons == ["error", "", "error", "", ""]
    assert done.summary["candidates"] == [f"{server.url}/menu/{name}.html" for name in "abc"]
    assert done.summary["loads"] == 6
    assert server.pages_asked == ["/", "/menu/a.html", "/menu/b.html", "/menu/c.html"]
    assert done.finish_reason == "complete_subdigraph"

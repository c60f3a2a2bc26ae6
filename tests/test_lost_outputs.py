"""Outputs that cannot be stored after all: an ERROR line each, exit status 1, the rest complete."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from base64 import b64encode
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.archives import records
from tests.support.crawls import PROJECT, SETTINGS, FixtureServer
from tests.support.full_disk import files_of_at_most
from tests.support.template_site import pages_of, routes_of
from tests.test_feeds import read

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# More than a trial needs, and a summary, which cuts titles; less than three candidates with long
# ones.
LIMIT = 7000


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run scrapy, as a person would."""
    settings = {**SETTINGS, "LOG_LEVEL": "INFO"}
    return subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments, *(f"-s{k}={v}" for k, v in settings.items())],
        cwd=PROJECT,
        text=True,
        check=False,
        timeout=120,
        **{"capture_output": True, **options},
    )


def errors(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line.partition("] ERROR: ")[2] for line in done.stderr.splitlines() if "ERROR:" in line]


def long_titles() -> dict[str, bytes]:
    title = b'<meta charset="utf-8"><title>' + "題".encode() * 850
    # What is archived is compressed: noise stays as long as it is.
    noise = b"<!--" + b64encode(Random(0).randbytes(1500)) + b"-->"
    return {name: body.replace(b"<title>", noise + title) for name, body in pages_of().items()}


def test_a_disk_that_fills_up(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    url = serve("menu", routes_of(long_titles())).url
    lost = [tmp_path / f"out.{name}" for name in ("json", "jl", "csv", "xml")]
    done = run(
        *("crawl", "template_candidates", f"-aurl={url}/", "-O-:jl"),
        *(f"-O{path}" for path in lost),
        f"-awarc={tmp_path / 'a.warc.gz'}",
        preexec_fn=files_of_at_most(LIMIT),
    )
    assert done.returncode == 1
    found = errors(done)
    for path in (*lost, tmp_path / "a.warc.gz"):
        assert len([line for line in found if str(path) in line]) == 1, found  # one line each
    assert len(found) == 5
    assert "Traceback" not in done.stderr
    # Each record that is there is whole: the last of them was taken off.
    assert len(records(tmp_path / "a.warc.gz")) > 3
    assert len(done.stdout.splitlines()) == 3  # what is not on the disk is whole


def test_a_row_that_the_encoding_cannot_hold(
    serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    url = serve("menu", routes_of({"": "<meta charset=utf-8><title>\u03a9".encode()})).url
    feeds = [f"-O{tmp_path / 'out'}.{ending}" for ending in ("json", "jl", "csv")]
    options = ["-sFEED_EXPORT_ENCODING=cp1252", "-sTPLSPIDER_TEXTS=1"]
    done = run("text", f"{url}/", *feeds, *options)
    assert done.returncode == 1, done.stderr
    assert len([line for line in errors(done) if "charmap" in line]) == len(feeds)


def test_a_middleware_that_takes_no_more_items(
    serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    middlewares = {"tests.support.components.TakesOneItem": 500}
    summary = tmp_path / "summary.jl"
    done = run(
        *("crawl", "template_candidates", f"-aurl={serve('menu').url}/docs/guide/one.html"),
        *(f"-asummary={summary}", f"-sSPIDER_MIDDLEWARES={json.dumps(middlewares)}"),
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(summary.read_text("utf-8"))["cs_size"] == 3


def test_pages_for_which_there_is_no_space(
    serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    url = serve("menu", routes_of(long_titles())).url
    folder = tmp_path / "html"
    done = run(
        *("crawl", "template_candidates", f"-aurl={url}/", f"-asave_html={folder}"),
        preexec_fn=files_of_at_most(LIMIT),
    )
    assert done.returncode == 1
    (line,) = errors(done)
    assert str(folder) in line
    assert not (folder / "manifest.json").exists()


@pytest.mark.parametrize("name", ["json", "csv"])
def test_a_reader_that_has_gone(serve: Callable[..., FixtureServer], name: str) -> None:
    url = serve("menu", routes_of(long_titles())).url
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        done = run(
            *("crawl", "template_candidates", f"-aurl={url}/", f"-O-:{name}"),
            capture_output=False,
            stdout=stdout,
            stderr=subprocess.PIPE,
        )
    (line,) = errors(done)
    assert "standard output" in line
    assert done.returncode == 1
    assert "Exception ignored" not in done.stderr
    assert "Traceback" not in done.stderr


def test_feeds_that_go_elsewhere(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    """Nobody is there to take it."""
    url = serve("menu", routes_of(pages_of())).url
    out = tmp_path / "out.json"
    done = run(
        *("crawl", "template_candidates", f"-aurl={url}/"),
        *("-Oftp://me:secret@127.0.0.1:1/x.json", f"-O{out}"),
    )
    assert len(errors(done)) == 1
    assert done.returncode == 1
    assert len(read(out)) == 3


def test_other_spiders_are_left_as_they_are(
    serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    """With the add-on in force, a feed of theirs that is lost is Scrapy's affair."""
    spider = tmp_path / "other.py"
    spider.write_text(
        "import scrapy\n"
        "class Other(scrapy.Spider):\n"
        "    name = 'other'\n"
        f"    start_urls = ['{serve('menu').url}/']\n"
        "    def parse(self, response):\n"
        "        yield {'x': 1}\n"
    )
    scrapy = partial(subprocess.run, cwd=PROJECT, capture_output=True, text=True, check=False)
    done = scrapy(
        [sys.executable, "-m", "scrapy", "crawl", "other", "-O/dev/full:jl"]
        + [f"-s{k}={v}" for k, v in {**SETTINGS, "SPIDER_MODULES": "other"}.items()],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert done.returncode == 0
    assert "Error storing jl feed" in done.stderr

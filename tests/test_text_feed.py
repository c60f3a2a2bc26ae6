"""Texts as items of real crawls: what it holds, in which feeds, and when there is none."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import PROJECT, SETTINGS, Crawl, FixtureServer, run_scrapy
from tests.support.template_site import CONTENT, elements, pages_of, routes_of
from tests.test_feeds import read
from tplspider.items import PageTemplate

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tplspider.demo.server import Handler

FIELDS = [field.name for field in fields(PageTemplate)]
HOSTILE = "=1+2 x\x01y\x0bz\x00 \ufffe &#xD800;&#1;&#0;<b>]]&gt;</b> end"


def template_of(file: Path) -> dict[str, Any]:
    (item,) = read(file)
    assert list(item) == FIELDS
    return item


@pytest.mark.quick
def test_what_the_item_holds(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    server = serve("menu", routes_of(pages_of()))
    file = tmp_path / "template.json"
    file.write_text("what was there before is overwritten")
    done = crawl(server.url + "/", texts=file, save_html=tmp_path / "html")
    assert done.code == 0
    assert "Traceback" not in done.log
    item = template_of(file)
    assert item["key_url"] == server.url + "/"
    expected = [f"{server.url}/{name}" for name in "abc"]
    assert item["candidates"] == done.summary["candidates"] == expected
    assert item["content_text"] == CONTENT[""]
    assert item["content_html"] == f"<p>{CONTENT['']}</p>"
    assert "all rights reserved" in item["template_html"]
    assert CONTENT[""] not in item["template_html"]
    assert item["not_template"] == ["/html/body/div[2]/p[1]"]
    assert 0.9 < item["template_share"] < 1
    assert done.stats["tplspider/template_share"] == str(item["template_share"])
    assert done.finish_reason == "complete_subdigraph"
    assert len(done.candidates) == 3


@pytest.mark.parametrize(
    ("encoding", "text", "menu"),
    [
        ("gb18030", "关键页面的内容，只有这里才有。", "菜单"),  # noqa: RUF001
        ("windows-1251", "Только на главной странице.", "Меню"),
    ],
)
def test_pages_that_are_not_in_utf_8(
    crawl: Callable[..., Crawl],
    serve: Callable[..., FixtureServer],
    tmp_path: Path,
    encoding: str,
    text: str,
    menu: str,
) -> None:
    pages = pages_of({"": text}, encoding=encoding, menu=menu)
    file, folder = tmp_path / "template.jl", tmp_path / "html"
    done = crawl(serve("menu", routes_of(pages)).url + "/", texts=file, save_html=folder)
    item = template_of(file)
    assert item["content_text"] == text
    assert menu in item["template_html"]
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert done.code == 0
    (found,) = elements(folder / "key.html", manifest[0]["encoding"], item["not_template"])
    assert found.text == text


def test_hostile_text_in_every_format(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    # A surrogate in UTF-8, and a byte that is nothing there.
    pages = {
        name: body.replace(b" end", b" \xed\xa0\x80\xff end")
        for name, body in pages_of({"": HOSTILE}, menu="M\x02\x1b[31m").items()
    }
    feeds = {
        str(tmp_path / f"t.{name}"): {"item_classes": ["tplspider.items.PageTemplate"]}
        | ({"format": "jsonlines"} if name == "jl" else {"format": name})
        for name in ("json", "jl", "xml")
    }
    done = run_scrapy(
        "crawl",
        "template_candidates",
        f"-aurl={serve('menu', routes_of(pages)).url}/",
        f"-atexts={tmp_path / 't.csv'}",
        f"-asave_html={tmp_path / 'html'}",
        folder=tmp_path,
        settings={"FEEDS": json.dumps(feeds)},
    )
    assert done.code == 0
    assert "Traceback" not in done.log
    expected = template_of(tmp_path / "t.json")
    assert expected["content_text"].startswith("=1+2 x")
    assert expected["content_text"].endswith("end")
    assert not set("\x00\x01\x02\x0b\x1b\ufffe") & set("".join(map(str, expected.values())))
    assert template_of(tmp_path / "t.jl") == expected
    row = template_of(tmp_path / "t.csv")
    assert row["content_text"] == "'" + expected["content_text"]
    for name in ("candidates", "not_template"):
        assert json.loads(row[name]) == expected[name]
    element = template_of(tmp_path / "t.xml")
    for name in ("content_html", "template_html", "content_text"):
        assert element[name].split() == expected[name].split()
    manifest = json.loads((tmp_path / "html" / "manifest.json").read_bytes())
    assert (tmp_path / "html" / "key.html").read_bytes() == pages[""]
    elements(tmp_path / "html" / "key.html", manifest[0]["encoding"], expected["not_template"])


ALONE = {
    "no page": (b"<a href=/missing>x</a><p>Alone</p>", "ok"),
    "no link": (b"x<p>Alone</p>", "no-links"),
}


@pytest.mark.parametrize("case", ALONE)
def test_a_page_by_itself(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path, case: str
) -> None:
    key, outcome = ALONE[case]
    server = serve("menu", routes_of({"": key}))
    done = crawl(server.url + "/", texts=tmp_path / "t.json", save_html=tmp_path / "html")
    assert done.code == 0
    assert "Traceback" not in done.log
    assert done.summary["key_outcome"] == outcome
    assert "no other page gave evidence of the template" in done.summary["hint"]
    found = template_of(tmp_path / "t.json")
    assert (found["evidence"], found["candidates"], found["not_template"]) == (0, [], [])
    assert (found["template_share"], found["template_html"]) == (0, "")
    assert found["content_text"].split() == found["main_text"].split() == ["x", "Alone"]
    assert (tmp_path / "html" / "key.html").read_bytes() == key


def test_without_a_page_there_is_no_template(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    done = crawl(serve("menu").url + "/missing", texts=tmp_path / "t.csv")
    assert done.code == 0
    assert (tmp_path / "t.csv").read_text().splitlines() == [",".join(FIELDS)]


def test_only_when_asked_for(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer]
) -> None:
    done = crawl(serve("menu", routes_of(pages_of())).url + "/")
    assert "Comparing" not in done.log
    assert "tplspider/template_share" not in done.stats


def test_a_defect_of_the_extractor_costs_the_template_only(
    crawl: Callable[..., Crawl], serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    done = crawl(
        serve("menu", routes_of(pages_of())).url + "/",
        {"TPLSPIDER_EXTRACTOR": "tests.support.odd_extractors.stumbles"},
        texts=tmp_path / "t.json",
        save_html=tmp_path / "html",
    )
    assert done.code == 1
    assert len([line for line in done.log.splitlines() if "] ERROR: No text for" in line]) == 1
    assert "RuntimeError: stumbled" in done.log
    assert len(done.candidates) == 3
    assert done.summary["complete"]
    assert done.finish_reason == "complete_subdigraph"
    assert read(tmp_path / "t.json") == []
    assert (tmp_path / "html" / "3.html").exists()


def test_beside_the_files_of_a_job(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    relative = os.path.relpath(tmp_path / "sub" / "t.json", PROJECT)
    done = run_scrapy(
        "crawl",
        "template_candidates",
        f"-aurl={serve('menu', routes_of(pages_of())).url}/",
        "-a_job=first",
        f"-atexts={relative}",
        folder=tmp_path,
        settings={"TPLSPIDER_FEEDS_DIR": str(tmp_path / "feeds")},
    )
    assert done.code == 0
    assert template_of(tmp_path / "sub" / "t.json")["content_text"] == CONTENT[""]
    names = sorted(path.name for path in (tmp_path / "feeds").iterdir())
    assert names == ["first.json", "first.summary.json"]


def test_a_crawl_that_is_interrupted(
    serve: Callable[..., FixtureServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best CS so far has a template, too; and nothing is left of the pages that were kept."""
    slow = "".join(f"<p><a href=/x{number}>slow {number}</a></p>" for number in range(40))
    pages = {**pages_of(), "": pages_of(more=slow)[""]}
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))

    def late(request: Handler) -> None:
        time.sleep(0.2)
        request.answer(200, b"<p>no menu</p>", Content_Type="text/html")

    late_routes = {f"/x{number}": late for number in range(40)}
    server = serve("menu", {**routes_of(pages), **late_routes})
    options = [f"-s{name}={value}" for name, value in SETTINGS.items()]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "scrapy", "crawl", "template_candidates", *options),
            *(f"-aurl={server.url}/", "-an=4", f"-atexts={tmp_path / 't.json'}"),
            *(f"-asave_html={tmp_path / 'html'}", f"-asummary={tmp_path / 'summary.json'}"),
        ],
        cwd=PROJECT,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not {"/a", "/b", "/c"} < set(server.pages_asked) or len(server.pages_asked) < 6:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    log = process.communicate(timeout=60)[1]
    assert process.returncode == 0
    assert "Spider closed (shutdown)" in log
    assert "Traceback" not in log
    item = template_of(tmp_path / "t.json")
    assert sorted(item["candidates"]) == [f"{server.url}/{name}" for name in "abc"]
    assert CONTENT[""] in item["content_text"]
    assert read(tmp_path / "summary.json")[0]["reason"] == "shutdown"
    assert (tmp_path / "html" / "key.html").read_bytes() == pages[""]
    assert list(temporary.iterdir()) == []

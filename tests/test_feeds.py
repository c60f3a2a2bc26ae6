from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import Crawl, FixtureServer, run_scrapy
from tests.support.kinds import with_quick
from tplspider.items import CandidateSearch, TemplateCandidate
from tplspider.search.session import SearchOptions, search_id

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEY = "/docs/guide/four.html"
CANDIDATE_FIELDS = [field.name for field in fields(TemplateCandidate)]
SUMMARY_FIELDS = [field.name for field in fields(CandidateSearch)]
SIMILARITIES = ["0.923", "0.766", "0.766"]  # of the candidates of the site "menu"
CASES = {
    "found": ("menu", KEY, 3),
    "partial": ("partial", "/", 2),
    "empty": ("alone", "/", 0),
    "key page failed": ("alone", "/missing.html", 0),
}


def crawl_to(folder: Path, url: str, *outputs: str, **arguments: object) -> Crawl:
    return run_scrapy(
        "crawl",
        "template_candidates",
        f"-aurl={url}",
        *(f"-a{name}={value}" for name, value in arguments.items()),
        *outputs,
        folder=folder,
    )


def read(path: Path) -> list[dict[str, Any]]:
    """The items of a feed, in whatever format, as a strict reader sees them."""
    data = path.read_bytes().decode("utf-8")
    match path.suffix:
        case ".json":
            return list(json.loads(data))
        case ".jl":
            return [json.loads(line) for line in data.splitlines()]
        case ".csv":
            return list(csv.DictReader(io.StringIO(data, newline=""), strict=True))
        case ".xml":
            return [{field.tag: field.text or "" for field in item} for item in ET.fromstring(data)]
    raise AssertionError(path)


@pytest.mark.parametrize("case", with_quick(CASES, "found"))
def test_every_format_is_valid_in_every_case(
    serve: Callable[..., FixtureServer], tmp_path: Path, case: str
) -> None:
    site, path, count = CASES[case]
    formats = ("json", "jl", "csv", "xml")
    done = crawl_to(
        tmp_path,
        serve(site).url + path,
        *(f"-O{tmp_path / f'out.{name}'}" for name in formats),
        summary=tmp_path / "summary.csv",
    )
    assert done.code == 0
    feeds = {name: read(tmp_path / f"out.{name}") for name in formats}
    assert {name: len(items) for name, items in feeds.items()} == dict.fromkeys(formats, count)
    for items in feeds.values():
        assert all(list(item) == CANDIDATE_FIELDS for item in items)
        assert [item["url"] for item in items] == [item["url"] for item in feeds["json"]]
    header = (tmp_path / "out.csv").read_text("utf-8").splitlines()[0]
    assert header == ",".join(CANDIDATE_FIELDS)
    (summary,) = read(tmp_path / "summary.csv")
    assert list(summary) == SUMMARY_FIELDS
    assert len(json.loads(summary["candidates"])) == count


@pytest.mark.parametrize("name", ["json", "xml"])  # others: elsewhere
def test_the_summary_in_every_format(
    serve: Callable[..., FixtureServer], tmp_path: Path, name: str
) -> None:
    path = tmp_path / f"summary.{name}"
    path.write_text("what was there before is overwritten")
    done = crawl_to(tmp_path, serve("menu").url + KEY, summary=path)
    assert done.code == 0
    (item,) = read(path)
    assert list(item) == SUMMARY_FIELDS
    assert item["reason"] == "complete_subdigraph"
    assert str(item["loads"]) == "5"


@pytest.mark.quick
def test_the_bytes_of_a_feed(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    server = serve("menu")
    crawl_to(tmp_path, server.url + KEY, f"-O{tmp_path / 'out.csv'}", f"-O{tmp_path / 'out.jl'}")
    site = server.url
    guide = f"{site}/docs/guide"
    rows = [
        f"one.html,{guide}/one.html,2,0,One,/html/body/aside/ul/li[1]/a,One",
        f"two.html,{guide}/two.html,3,0,'=Two(),/html/body/aside/ul/li[2]/a,'+Two",
        f'three.html,{guide}/three.html,4,0,"Three, “quoted”",/html/body/aside/ul/li[3]/a,Three',
    ]
    name = search_id(site + KEY, SearchOptions())
    assert (tmp_path / "out.csv").read_bytes().decode("utf-8").splitlines() == [
        ",".join(CANDIDATE_FIELDS),
        *(
            f"{site}{KEY},{guide}/{row},3,3,True,5,{similarity},{name},{site}{KEY}"
            for row, similarity in zip(rows, SIMILARITIES, strict=True)
        ),
    ]
    lines = [json.loads(line) for line in (tmp_path / "out.jl").read_bytes().splitlines()]
    assert lines[1] == {
        "key_url": site + KEY,
        "url": f"{site}/docs/guide/two.html",
        "link": f"{site}/docs/guide/two.html",
        "rank": 3,
        "h_distance": 0,
        "anchor_text": "=Two()",
        "dom_path": "/html/body/aside/ul/li[2]/a",
        "title": "+Two",
        "requested_size": 3,
        "cs_size": 3,
        "complete": True,
        "loads": 5,
        "similarity": float(SIMILARITIES[1]),
        "search_id": name,
        "requested_url": site + KEY,
    }
    assert "“quoted”".encode() in (tmp_path / "out.jl").read_bytes()


@pytest.mark.parametrize("case", ["found", "key page failed"])
def test_standard_output_holds_nothing_but_the_feed(
    serve: Callable[..., FixtureServer], tmp_path: Path, case: str
) -> None:
    site, path, count = CASES[case]
    done = crawl_to(tmp_path, serve(site).url + path, "-O-:json")
    assert len(json.loads(done.stdout)) == count


def test_feeds_with_item_classes_of_their_own_are_left_as_they_are(
    serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    feeds = {
        str(tmp_path / "candidates.csv"): {},
        str(tmp_path / "summary.jl"): {"item_classes": ["tplspider.items.CandidateSearch"]},
        str(tmp_path / "all.jl"): {
            "item_classes": ["tplspider.items.CandidateSearch", "tplspider.items.TemplateCandidate"]
        },
        str(tmp_path / "short.csv"): {"fields": ["rank", "url"]},
    }
    done = run_scrapy(
        "crawl",
        "template_candidates",
        f"-aurl={serve('menu').url}{KEY}",
        folder=tmp_path,
        settings={"FEEDS": json.dumps(feeds)},
    )
    assert done.code == 0
    assert len(read(tmp_path / "candidates.csv")) == 3
    assert [list(item) for item in read(tmp_path / "summary.jl")] == [SUMMARY_FIELDS]
    assert len(read(tmp_path / "all.jl")) == 4
    assert (tmp_path / "short.csv").read_text().splitlines()[0] == "rank,url"


def test_texts_that_would_break_a_feed_are_made_harmless(
    serve: Callable[..., FixtureServer], tmp_path: Path
) -> None:
    bad = "@a\x01b\ufffe".encode()
    page = b"<meta charset=utf-8><title>" + bad + b"</title><p>%s</p><a href=/%s>x</a>"
    server = serve(
        "menu",
        {
            "/k": lambda request: request.answer(
                200,
                b"<meta charset=utf-8><a href=/x>\r-1\x02+2</a><a href=/y>\t=1</a>",
                Content_Type="text/html",
            ),
            "/x": lambda request: request.answer(
                200, page % (b"x", b"y"), Content_Type="text/html"
            ),
            "/y": lambda request: request.answer(
                200, page % (b"y", b"x"), Content_Type="text/html"
            ),
        },
    )
    formats = ("json", "jl", "csv", "xml")
    outputs = [f"-O{tmp_path / f'out.{name}'}" for name in formats]
    done = crawl_to(tmp_path, server.url + "/k", *outputs, n=2)
    assert done.code == 0
    assert "Traceback" not in done.log
    for name in formats:
        items = read(tmp_path / f"out.{name}")
        quote = "'" if name == "csv" else ""
        assert len(items) == 2, name
        assert items[0]["anchor_text"] == f"{quote}-1+2"
        assert items[1]["anchor_text"] == f"{quote}=1"
        assert items[0]["title"] == f"{quote}@ab"


def test_appending_to_json_lines(serve: Callable[..., FixtureServer], tmp_path: Path) -> None:
    url = serve("menu").url + KEY
    for _ in range(2):
        crawl_to(tmp_path, url, f"-o{tmp_path / 'out.jl'}")
    assert len(read(tmp_path / "out.jl")) == 6

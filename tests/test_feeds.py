import csv
import io
import json
import xml.etree.ElementTree as ET
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawls import CRAWL, Crawl, RunCrawl, Serve, run_scrapy
from tests.support.kinds import with_quick
from tests.support.template_site import CONTENT, elements, pages_of, routes_of
from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.search.session import SearchOptions, search_id

KEY = "/docs/guide/four.html"
CANDIDATE_FIELDS = [field.name for field in fields(TemplateCandidate)]
SUMMARY_FIELDS = [field.name for field in fields(CandidateSearch)]
SIMILARITIES = ["0.923", "0.766", "0.766"]  # of the candidates of the site "menu"
CASES = {"found": ("menu", KEY, 3), "partial": ("partial", "/", 2), "empty": ("alone", "/", 0)}


def crawl_to(folder: Path, url: str, *outputs: str, **arguments: object) -> Crawl:
    given = (f"-a{name}={value}" for name, value in arguments.items())
    return run_scrapy(*CRAWL, f"-aurl={url}", *given, *outputs, folder=folder)


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
def test_every_format_is_valid_in_every_case(serve: Serve, tmp_path: Path, case: str) -> None:
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


@pytest.mark.quick
def test_the_bytes_of_a_feed(serve: Serve, tmp_path: Path) -> None:
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
    two = [f"{guide}/two.html", f"{guide}/two.html", 3, 0, "=Two()", "/html/body/aside/ul/li[2]/a"]
    two += ["+Two", 3, 3, True, 5, float(SIMILARITIES[1]), name, site + KEY]
    assert lines[1] == dict(zip(CANDIDATE_FIELDS, [site + KEY, *two], strict=True))
    assert "“quoted”".encode() in (tmp_path / "out.jl").read_bytes()


def test_standard_output_holds_nothing_but_the_feed(serve: Serve, tmp_path: Path) -> None:
    done = crawl_to(tmp_path, serve("menu").url + KEY, "-O-:json")
    assert len(json.loads(done.stdout)) == 3
    # No text, but the columns that it would have.
    done = crawl_to(tmp_path, serve("menu").url + "/missing.html", texts="-:csv")
    assert done.stdout.split() == [",".join(TEXT_FIELDS)]


def test_feeds_with_item_classes_are_left_as_they_are(serve: Serve, tmp_path: Path) -> None:
    feeds = {
        str(tmp_path / "candidates.csv"): {},
        str(tmp_path / "summary.jl"): {"item_classes": ["tplspider.items.CandidateSearch"]},
        str(tmp_path / "all.jl"): {
            "item_classes": ["tplspider.items.CandidateSearch", "tplspider.items.TemplateCandidate"]
        },
        str(tmp_path / "short.csv"): {"fields": ["rank", "url"]},
    }
    url, settings = f"-aurl={serve('menu').url}{KEY}", {"FEEDS": json.dumps(feeds)}
    done = run_scrapy(*CRAWL, url, folder=tmp_path, settings=settings)
    assert done.code == 0
    assert len(read(tmp_path / "candidates.csv")) == 3
    assert [list(item) for item in read(tmp_path / "summary.jl")] == [SUMMARY_FIELDS]
    assert len(read(tmp_path / "all.jl")) == 4
    assert (tmp_path / "short.csv").read_text().splitlines()[0] == "rank,url"


TEXT_FIELDS = [field.name for field in fields(PageTemplate)]
HOSTILE = "=1+2 x\x01y\x0bz\x00 \ufffe &#xD800;&#1;&#0;<b>]]&gt;</b> end"


def template_of(file: Path) -> dict[str, Any]:
    (item,) = read(file)
    assert list(item) == TEXT_FIELDS
    return item


@pytest.mark.quick
def test_what_the_item_holds(crawl: RunCrawl, serve: Serve, tmp_path: Path) -> None:
    server = serve("menu", routes_of(pages_of()))
    file = tmp_path / "template.json"
    file.write_text("what was there before is overwritten")
    done = crawl(server.url + "/", {"TPLSPIDER_MARKDOWN": "1"}, texts=file)
    assert done.code == 0
    assert "Traceback" not in done.log
    item = template_of(file)
    assert item["main_markdown"] == item["content_markdown"] == CONTENT[""]
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


def test_hostile_text_in_every_format(serve: Serve, tmp_path: Path) -> None:
    # A surrogate in UTF-8, and a byte that is nothing there.
    pages = {
        name: body.replace(b" end", b" \xed\xa0\x80\xff end")
        for name, body in pages_of({"": HOSTILE}, menu="=M\x02\x1b[31m").items()
    }
    text = {"item_classes": ["tplspider.items.PageTemplate"]}
    feeds = {str(tmp_path / f"t.{name}"): text for name in ("json", "jl", "xml")}
    feeds |= {str(tmp_path / f"c.{name}"): {} for name in ("json", "jl", "xml", "csv")}
    done = run_scrapy(
        *(*CRAWL, f"-aurl={serve('menu', routes_of(pages)).url}/"),
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
    for name in ("json", "jl", "xml", "csv"):
        quote = "'" if name == "csv" else ""
        first, *_ = candidates = read(tmp_path / f"c.{name}")
        assert len(candidates) == 3
        assert (first["anchor_text"], first["title"]) == (f"{quote}=M[31m a", f"{quote}=M[31m")
    manifest = json.loads((tmp_path / "html" / "manifest.json").read_bytes())
    assert (tmp_path / "html" / "key.html").read_bytes() == pages[""]
    elements(tmp_path / "html" / "key.html", manifest[0]["encoding"], expected["not_template"])


def test_a_page_by_itself(crawl: RunCrawl, serve: Serve, tmp_path: Path) -> None:
    key, outcome = b"x<p>Alone</p>", "no-links"
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

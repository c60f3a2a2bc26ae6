"""In anybody's spider: every item gets the text of its page, at every end of a crawl."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import PROJECT
from tests.support.field_sites import (
    FIELDS,
    FieldProject,
    check_rows,
    make_field_project,
    own_words,
    page_html,
    site_routes,
    sites_argument,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import FixtureServer
    from tplspider.demo.server import Handler

    Serve = Callable[..., FixtureServer]

PAGES = 24
LOUD = {"LOG_LEVEL": "INFO"}
NO_FIELDS = {"TPLSPIDER_FIELDS": ""}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_field_project(tmp_path_factory.mktemp("made") / "project").folder


@pytest.fixture
def project(tmp_path: Path, made: Path) -> FieldProject:
    return FieldProject(copytree(made, tmp_path / "project"), PROJECT)


@pytest.fixture
def three(serve: Serve) -> list[FixtureServer]:
    return [serve("menu", site_routes(f"site{n}", PAGES)) for n in range(3)]


def test_every_item_of_three_sites_has_its_text(
    project: FieldProject, three: list[FixtureServer]
) -> None:
    done = project.crawl("plain", sites_argument(three))
    assert done.code == 0, done.log
    rows = project.rows
    check_rows(done, rows, three)
    assert len(rows) == 3 * PAGES
    assert {row["evidence"] for row in rows} == {3}
    assert done.stats["tplspider/fields/items"] == str(3 * PAGES)
    assert done.stats["tplspider/fields/sites"] == "3"
    assert "Fields of items: 72 items of 72 pages have them" in done.log
    assert done.finish_reason == "finished"


def test_the_same_items_as_without(project: FieldProject, three: list[FixtureServer]) -> None:
    """Also of pages that come out of the cache, the second time."""
    argument = sites_argument(three)
    project.set("HTTPCACHE_ENABLED = True")
    project.crawl("plain", argument, **NO_FIELDS)
    before = project.rows
    done = project.crawl("plain", argument)
    assert "'httpcache/hit': 75" in done.log
    rows = project.rows
    assert {key for row in rows for key in row} == {"url", "title", "text", "evidence"}
    without = [{key: row[key] for key in ("url", "title")} for row in rows]
    assert sorted(without, key=str) == sorted(before, key=str)
    check_rows(done, rows, three)


KINDS = """
from dataclasses import dataclass

import attr
import scrapy
from pydantic import BaseModel, ConfigDict, field_validator

from .plain import Plain


class OfScrapy(scrapy.Item):
    kind, url, text, evidence = (scrapy.Field() for _ in range(4))


@dataclass
class OfDataclass:
    kind: str
    url: str
    text: str = ""
    evidence: int = -1


@dataclass(frozen=True, slots=True)
class FrozenDataclass:
    kind: str
    url: str
    text: str = ""
    evidence: int = -1


@attr.s(auto_attribs=True)
class OfAttrs:
    kind: str
    url: str
    text: str = ""
    evidence: int = -1


@attr.frozen
class FrozenAttrs:
    kind: str
    url: str
    text: str = ""
    evidence: int = -1


class OfPydantic(BaseModel):
    kind: str
    url: str
    text: str = ""
    evidence: int = -1


class FrozenPydantic(OfPydantic):
    model_config = ConfigDict(frozen=True)


@dataclass
class Undeclared:
    kind: str
    url: str
    text: str = ""


class Strict(OfPydantic):
    model_config = ConfigDict(validate_assignment=True)

    @field_validator("evidence")
    @classmethod
    def never(cls, value):
        raise ValueError("three is too many")


class ReadOnly(OfScrapy):
    def __setitem__(self, name, value):
        if name == "evidence":
            raise RuntimeError("not here")
        super().__setitem__(name, value)


KINDS = [OfScrapy, OfDataclass, FrozenDataclass, OfAttrs, FrozenAttrs, OfPydantic, FrozenPydantic,
         Undeclared, Strict, ReadOnly, dict]


class Kinds(Plain):
    name = "kinds"

    def page(self, response):
        for kind in KINDS:
            yield kind(kind=kind.__name__, url=response.url)
"""


def test_items_of_every_kind(project: FieldProject, serve: Serve) -> None:
    project.spider(KINDS)
    server = serve("menu", site_routes("site0", PAGES))
    done = project.crawl("kinds", sites_argument([server]))
    by_kind = defaultdict(list)
    for row in project.rows:
        by_kind[row["kind"]].append(row)
    assert {len(rows) for rows in by_kind.values()} == {PAGES}
    assert len(by_kind) == 11
    unchanged = {"Undeclared", "Strict", "ReadOnly"}
    for kind, rows in by_kind.items():
        for row in rows:
            words = own_words("site0", int(row["url"].rpartition("page")[2]))
            assert (words in (row.get("text") or "")) is (kind not in unchanged), row
            assert row.get("evidence") in ((None, -1) if kind in unchanged else (3,)), row
    # In the order in which callbacks gave them, those that do not declare the fields too.
    assert [row["kind"] for row in project.rows] == [*by_kind] * PAGES
    assert [*by_kind][7:10] == ["Undeclared", "Strict", "ReadOnly"]
    for kind in unchanged:
        assert len(re.findall(rf"ERROR: {kind} ", done.log)) == 1
    assert done.stats["tplspider/fields/undeclared"] == str(PAGES)
    assert done.stats["tplspider/fields/refused"] == str(2 * PAGES)
    assert "Traceback" not in done.log


ENDLESS = """
import time
from .plain import Plain


class Endless(Plain):
    name = "endless"
    custom_settings = {"EXTENSIONS": {"other.spiders.endless.Times": 1}}

    def page(self, response):
        yield {"url": response.url, "since": time.monotonic()}


class Times:
    @classmethod
    def from_crawler(cls, crawler):
        from scrapy import signals
        self = cls()
        crawler.signals.connect(self.scraped, signals.item_scraped)
        return self

    def scraped(self, item, response, spider):
        waited = time.monotonic() - item["since"]
        spider.logger.info("OUT %.2f %s %s %s", waited, item["url"], response.url, response.status)
"""


@pytest.mark.parametrize("bound", ["TPLSPIDER_HELD_ITEMS", "TPLSPIDER_HELD_SECONDS"])
def test_a_spider_that_never_idles(project: FieldProject, serve: Serve, bound: str) -> None:
    """Items of ten sites that are never ready do not wait for longer, nor are there more."""
    project.spider(ENDLESS, "endless")
    servers = [serve("menu", site_routes(f"site{n}", 8, delay=0.1)) for n in range(10)]
    value = 3 if bound.endswith("ITEMS") else 0.5
    settings = {bound: value, "CONCURRENT_REQUESTS": 2}
    done = project.crawl("endless", sites_argument(servers), **settings)
    assert len(project.rows) == 80
    outs = re.findall(r"OUT (\S+) (\S+) (\S+) (\d+)", done.log)
    assert len(outs) == 80
    assert all((url, status) == (shown, "200") for _, url, shown, status in outs)
    if bound.endswith("ITEMS"):
        assert int(done.stats["tplspider/fields/held_max"]) == 3
    else:
        # The first of them meet a worker that has just been started, which may take its time.
        assert sorted(float(waited) for waited, *_ in outs)[-20] < max(2, done.seconds / 2)
    assert int(done.stats["tplspider/fields/given_out_early"]) > 10


def test_a_reactor_of_another_kind(project: FieldProject, three: list[FixtureServer]) -> None:
    project.set('TWISTED_REACTOR = "twisted.internet.selectreactor.SelectReactor"')
    done = project.crawl("plain", sites_argument(three))
    assert "ERROR: TPLSPIDER_FIELDS needs an asyncio reactor" in done.log
    assert done.finish_reason == "tplspider_fields"
    assert "Traceback" not in done.log
    assert three[0].log == []


@pytest.mark.parametrize(
    ("name", "value"), [("FIELDS", '{"text": "mian_text"}'), ("POOL_DIR", "file"), ("FELDS", "{}")]
)
def test_wrong_settings_are_one_line(
    project: FieldProject, three: list[FixtureServer], name: str, value: str
) -> None:
    """Also if they are those of a spider. Nothing is requested."""
    project.write("file", "")
    own = f"    custom_settings = {{'TPLSPIDER_{name}': {value!r}}}\n"
    project.spider(f"from .plain import Plain\nclass Wrong(Plain):\n    name = 'wrong'\n{own}")
    project.set(f"TPLSPIDER_FIELDS = {FIELDS}")
    done = project.run("crawl", "wrong", "-Oout.jl", sites_argument(three), settings=LOUD)
    assert done.finish_reason == "tplspider_fields"
    assert len(re.findall("ERROR: .*", done.log)) == 1
    assert "Traceback" not in done.log
    assert three[0].log == []


OTHER_OUTPUT = """
import scrapy
from .plain import Plain


class Mixed(Plain):
    name = "mixed"

    async def start(self):
        yield {"url": "start"}
        async for request in super().start():
            yield request
        site = self.start_urls[0].rstrip("/")
        for path in ("/pdf", "/xml", "/text", "/empty", "/missing", "/page3"):
            yield scrapy.Request(site + path, self.other, dont_filter=True,
                                 meta={"handle_httpstatus_all": True})

    async def other(self, response):
        yield None
        yield {"url": response.url, "status": response.status}
"""


def test_what_is_not_a_page(project: FieldProject, serve: Serve) -> None:
    """It passes at once, as it is; what is HTML is taken, whatever its status."""
    project.spider(OTHER_OUTPUT)

    def answer(kind: str, body: bytes) -> Callable[[Handler], object]:
        return lambda request: request.answer(200, body, Content_Type=kind)

    routes = site_routes("site0", PAGES)
    routes["/pdf"] = answer("application/pdf", b"%PDF-1.7")
    routes["/xml"] = answer("application/xml", b"<a>b</a>")
    routes["/text"] = answer("text/plain", b"plain")
    routes["/empty"] = answer("text/html", b"")
    server = serve("menu", routes)
    done = project.crawl("mixed", sites_argument([server]))
    rows = {row["url"].replace(server.url, ""): row for row in project.rows if "title" not in row}
    assert {path for path, row in rows.items() if "text" not in row} == {
        "start",
        "/pdf",
        "/xml",
        "/text",
    }
    assert rows["/missing"]["status"] == 404
    assert "Not found" in rows["/missing"]["text"]
    assert rows["/empty"]["text"] == ""
    assert own_words("site0", 3) in rows["/page3"]["text"]
    assert len(project.rows) == PAGES + 7
    assert done.stats["tplspider/fields/passed_by"] == "3"
    assert "Traceback" not in done.log


PIPELINES = """
import asyncio
from scrapy.exceptions import DropItem


class Slow:
    now = most = 0

    async def process_item(self, item):
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(0.05)
        self.now -= 1
        return item

    def close_spider(self):
        print("MOST", self.most)


class Picky:
    def process_item(self, item):
        assert "built by smith" in item["text"]
        if item["url"].endswith("5"):
            raise DropItem("a five")
        if item["url"].endswith("6"):
            raise RuntimeError("a six")
        return item
"""


def test_pipelines(project: FieldProject, three: list[FixtureServer]) -> None:
    """One that is slow, and one that drops items or fails: they meet items that have their text."""
    project.write("other/pipelines.py", PIPELINES)
    project.set('ITEM_PIPELINES = {"other.pipelines.Slow": 1, "other.pipelines.Picky": 2}')
    project.set("CONCURRENT_ITEMS = 5")
    done = project.crawl("plain", sites_argument(three))
    assert len(project.rows) == 3 * (PAGES - 4)
    assert done.log.count("RuntimeError: a six") == 3 * 2
    assert re.search(r"'item_dropped_count': 6\b", done.log)
    (most,) = re.findall(r"MOST (\d+)", done.stdout)
    assert 2 <= int(most) <= 5  # fewer than allowed where they come slowly


IN_ONE_PROCESS = """
from scrapy.crawler import {process}
from scrapy.utils.project import get_project_settings

process = {process}(get_project_settings())
for name, site in {sites}:
    process.settings["FEEDS"].clear()
    crawler = process.create_crawler("plain")
    crawler.settings.set("FEEDS", {{name: {{"format": "jl"}}}}, "cmdline")
    process.crawl(crawler, sites=site)
process.start()
"""


@pytest.mark.parametrize("process", ["CrawlerProcess", "AsyncCrawlerProcess"])
def test_two_crawls_in_one_process(
    project: FieldProject, three: list[FixtureServer], process: str
) -> None:
    sites = [(f"{n}.jl", server.url + "/") for n, server in enumerate(three[:2])]
    project.set(f"TPLSPIDER_FIELDS = {FIELDS}\nHTTPPROXY_ENABLED = False\nLOG_LEVEL = 'INFO'")
    project.write("both.py", IN_ONE_PROCESS.format(process=process, sites=sites))
    done = project.python("both.py")
    assert done.code == 0, done.log
    lines = [(project.folder / name).read_text().splitlines() for name, _ in sites]
    rows = [json.loads(line) for line in lines[0] + lines[1]]
    assert [len(found) for found in lines] == [PAGES, PAGES]
    check_rows(done, rows, three)


MANY_ITEMS = """
import asyncio
from .plain import Plain


class Many(Plain):
    name = "many"

    async def page(self, response):
        for number in range(self.settings.getint("MANY")):
            yield {"url": response.url, "number": number}
            if number == 3:
                await asyncio.sleep(0.05)
"""


def test_many_items_of_one_page(project: FieldProject, serve: Serve) -> None:
    project.spider(MANY_ITEMS)
    server = serve("menu", site_routes("site0", 5))
    done = project.crawl("many", sites_argument([server]), MANY=1000)
    assert done.stats["tplspider/fields/pages"] == "5"
    assert done.stats["tplspider/fields/items"] == "5000"
    assert int(done.stats["tplspider/fields/held_max"]) <= 1000
    numbers = defaultdict(list)
    for row in project.rows:
        numbers[row["url"]].append(row["number"])
        assert "built by smith" in row["text"]
    assert len(numbers) == 5
    assert all(found == list(range(1000)) for found in numbers.values())


def test_odd_sites(project: FieldProject, serve: Serve) -> None:
    """A site of one page, and one of copies: their pages are their own, and that is told."""
    copy = page_html("copies", 7, [f"/page{n}" for n in range(40)]).encode()

    def answer(request: Handler) -> None:
        request.answer(200, copy, Content_Type="text/html")

    copies = serve("menu", dict.fromkeys(["/", *(f"/page{n}" for n in range(40))], answer))
    single = serve("menu", {"/page0": answer})
    done = project.crawl("plain", f"-asites={copies.url}/ {single.url}/page0")
    assert len(project.rows) == 41
    assert {row["evidence"] for row in project.rows} == {0}
    assert all("built by smith" in row["text"] for row in project.rows)
    assert done.stats["tplspider/fields/without_evidence"] == "41"


def test_pools_are_kept_for_the_next_crawl(
    project: FieldProject, three: list[FixtureServer], tmp_path: Path
) -> None:
    """Which holds nothing back: its first pages are compared like its last."""
    folder = {"TPLSPIDER_POOL_DIR": tmp_path / "pools"}
    project.crawl("plain", sites_argument(three), **folder)
    done = project.crawl("plain", sites_argument(three), **folder)
    check_rows(done, project.rows, three)
    assert done.stats["tplspider/fields/held_max"] == "0"
    assert {row["evidence"] for row in project.rows} == {3}


def test_our_own_spider_has_no_use_for_it(project: FieldProject, serve: Serve) -> None:
    project.set('SPIDER_MODULES = [*SPIDER_MODULES, "tplspider.spiders"]')
    server = serve("menu")
    url = f"-aurl={server.url}/docs/guide/four.html"
    done = project.crawl("template_candidates", url, TPLSPIDER_FIELDS=FIELDS)
    assert done.code == 0, done.log
    assert "TPLSPIDER_FIELDS is for other spiders" in done.log
    assert "FieldsMiddleware" not in done.log
    assert "Spider closed (complete_subdigraph)" in done.log

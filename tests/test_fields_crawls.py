"""In anybody's spider: every item gets the text of its page, at every end of a crawl."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
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
    project.crawl("plain", sites_argument(three), **NO_FIELDS)
    before = project.rows
    done = project.crawl("plain", sites_argument(three))
    assert (done.code, done.finish_reason) == (0, "finished"), done.log
    rows = project.rows
    check_rows(done, rows, three)
    assert len(rows) == 3 * PAGES
    assert {row["evidence"] for row in rows} == {3}
    stats = {name: done.stats[f"tplspider/fields/{name}"] for name in ("items", "pages", "sites")}
    assert stats == {"items": "72", "pages": "72", "sites": "3"}
    without = [{key: row[key] for key in ("url", "title")} for row in rows]
    assert sorted(without, key=str) == sorted(before, key=str)


KINDS = """
from dataclasses import dataclass
from .plain import Plain


@dataclass(frozen=True, slots=True)
class Frozen:
    kind: str
    url: str
    text: str = ""
    evidence: int = -1


@dataclass
class Undeclared:
    kind: str
    url: str
    text: str = ""


class Strict(dict):
    def __setitem__(self, name, value):
        raise ValueError("not here")


class Kinds(Plain):
    name = "kinds"
    custom_settings = {"FEEDS": {"out.csv": {"format": "csv"}}}

    def page(self, response):
        for kind in (Frozen, Undeclared, Strict, dict):
            yield kind(kind=kind.__name__, url=response.url)
"""


def test_items_of_every_kind_in_their_order(project: FieldProject, serve: Serve) -> None:
    """Those that do not get the fields keep their place: CSV has the columns of the first."""
    project.spider(KINDS)
    server = serve("menu", site_routes("site0", PAGES))
    done = project.run(
        "crawl",
        "kinds",
        sites_argument([server]),
        settings={**LOUD, "TPLSPIDER_FIELDS": FIELDS},
    )
    rows = [*csv.DictReader((project.folder / "out.csv").read_text("utf-8").splitlines())]
    assert [row["kind"] for row in rows] == ["Frozen", "Undeclared", "Strict", "dict"] * PAGES
    for row in rows:
        words = own_words("site0", int(row["url"].rpartition("page")[2]))
        assert (words in row["text"]) is (row["kind"] in ("Frozen", "dict"))
        assert row["evidence"] == ("3" if row["kind"] in ("Frozen", "dict") else "")
    assert re.findall(r"ERROR: (\w+) ", done.log) == ["Undeclared", "Strict"]
    stats = [done.stats[f"tplspider/fields/{name}"] for name in ("items", "undeclared", "refused")]
    assert stats == [str(2 * PAGES), str(PAGES), str(PAGES)]
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


PAUSES = """
import asyncio


class Pauses:
    @classmethod
    def from_crawler(cls, crawler):
        self = cls()
        self.crawler = crawler
        return self

    async def process_item(self, item):
        await asyncio.sleep(0.2)
        if self.crawler.engine.paused:
            self.crawler.stats.inc_value("tplspider/paused")
        return item
"""


@pytest.mark.slow
def test_a_crawl_that_is_faster_than_its_pipelines(project: FieldProject, serve: Serve) -> None:
    """It is paused, and goes on."""
    project.spider(MANY_ITEMS)
    project.write("other/pipelines.py", PAUSES)
    project.set('ITEM_PIPELINES = {"other.pipelines.Pauses": 1}')
    project.set("CONCURRENT_ITEMS = 100\nCONCURRENT_REQUESTS_PER_DOMAIN = 16")
    server = serve("menu", site_routes("site0", 100))
    done = project.crawl("many", sites_argument([server]), MANY=100)
    assert len(project.rows) == 10_000
    assert all("built by smith" in row["text"] for row in project.rows)
    assert 0 < int(done.stats["tplspider/paused"]) < 9900
    assert done.finish_reason == "finished"


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


@pytest.mark.slow
def test_a_broad_crawl() -> None:
    """No item is lost, and memory is bounded: at most twice that of the plain crawl."""
    command = [sys.executable, "-m", "benchmarks.field_hosts", "--hosts", "300"]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_our_own_spider_has_no_use_for_it(project: FieldProject, serve: Serve) -> None:
    project.set('SPIDER_MODULES = [*SPIDER_MODULES, "tplspider.spiders"]')
    server = serve("menu")
    url = f"-aurl={server.url}/docs/guide/four.html"
    done = project.crawl("template_candidates", url, TPLSPIDER_FIELDS=FIELDS)
    assert done.code == 0, done.log
    assert "TPLSPIDER_FIELDS is for other spiders" in done.log
    assert "FieldsMiddleware" not in done.log
    assert "Spider closed (complete_subdigraph)" in done.log

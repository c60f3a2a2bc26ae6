"""TPLSPIDER_FIELDS in other spiders: every item comes out once, with its text, at every end."""

import csv
import os
import re
import signal
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from shutil import copytree
from threading import Event

import pytest
from scrapy.settings import Settings

from tests.support.crawls import PROJECT, FixtureServer, Serve, run_command
from tests.support.field_sites import (
    FIELDS,
    FieldProject,
    check_rows,
    make_field_project,
    met,
    own_words,
    site_routes,
    sites_argument,
)
from tests.support.site_server import Handler
from tplspider.arguments import Config

PAGES = 24
LOUD = {"LOG_LEVEL": "INFO"}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_field_project(tmp_path_factory.mktemp("made") / "project").folder


@pytest.fixture
def project(tmp_path: Path, made: Path) -> FieldProject:
    return FieldProject(copytree(made, tmp_path / "project"), PROJECT)


@pytest.fixture
def three(serve: Serve) -> list[FixtureServer]:
    return [serve("menu", site_routes(f"site{n}", PAGES)) for n in range(3)]


@pytest.fixture
def slow_three(serve: Serve) -> list[FixtureServer]:
    """Three sites that take their time, so that a crawl can be ended in the middle."""
    return [serve("menu", site_routes(f"site{n}", 60, delay=0.05)) for n in range(3)]


@pytest.mark.parametrize("given", [{"a": "title"}, '{"a": "title"}', None, "", {}])
def test_fields_may_come_as_json(given: object) -> None:
    read = Config.of(Settings({"TPLSPIDER_FIELDS": given})).fields
    assert read == ((("a", "title"),) if given else ())


@pytest.mark.parametrize("given", ["[1]", 7, {"a": "key_url"}, {"a": ["title"]}, {1: "title"}])
def test_wrong_fields(given: object) -> None:
    with pytest.raises(ValueError, match=r"^TPLSPIDER_FIELDS: expected [^\n]*$"):
        Config.of(Settings({"TPLSPIDER_FIELDS": given}))


def test_every_item_of_three_sites_has_its_text(
    project: FieldProject, three: list[FixtureServer], tmp_path: Path
) -> None:
    project.crawl("plain", sites_argument(three), TPLSPIDER_FIELDS="")
    before = project.rows
    folder = {"TPLSPIDER_POOL_DIR": tmp_path / "pools"}
    for times in (1, 2):
        done = project.crawl("plain", sites_argument(three), **folder)
        assert (done.code, done.finish_reason) == (0, "finished"), done.log
        rows = project.rows
        check_rows(done, rows, three)
        assert {row["evidence"] for row in rows} == {3}
        stats = {name: done.stats[f"tplspider/fields/{name}"] for name in ("items", "pages")}
        assert stats == {"items": "72", "pages": "72"}
        without = [{key: row[key] for key in ("url", "title")} for row in rows]
        assert sorted(without, key=str) == sorted(before, key=str)
        # The second crawl has the pools of the first, and holds nothing back.
        assert (int(done.stats["tplspider/fields/held_max"]) > 0) == (times == 1)


KINDS = """
from dataclasses import dataclass
import attr
import pydantic
import scrapy
from .plain import Plain
@dataclass
class Plain_:
    kind: str
    url: str
    text: str = ""
    evidence: int = -1
@attr.define
class Attrs:
    kind: str
    url: str
    text: str = ""
    evidence: int = -1
class Pydantic(pydantic.BaseModel):
    kind: str
    url: str
    text: str = ""
    evidence: int = -1
class Scrapy(scrapy.Item):
    kind = scrapy.Field()
    url = scrapy.Field()
    text = scrapy.Field()
    evidence = scrapy.Field()
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
        for kind in (Plain_, Attrs, Undeclared, Pydantic, Strict, Scrapy, dict):
            yield kind(kind=kind.__name__, url=response.url)
"""


@pytest.mark.quick
def test_items_of_every_kind_in_their_order(project: FieldProject, serve: Serve) -> None:
    """Those that do not get the fields keep their place: CSV has the columns of the first."""
    project.spider(KINDS)
    server = serve("menu", site_routes("site0", PAGES))
    settings = {**LOUD, "TPLSPIDER_FIELDS": FIELDS}
    done = project.run("crawl", "kinds", sites_argument([server]), settings=settings)
    rows = [*csv.DictReader((project.folder / "out.csv").read_text("utf-8").splitlines())]
    kinds = "Plain_ Attrs Undeclared Pydantic Strict Scrapy dict".split()
    assert [row["kind"] for row in rows] == kinds * PAGES
    for row in rows:
        words = own_words("site0", int(row["url"].rpartition("page")[2]))
        is_filled = row["kind"] not in ("Undeclared", "Strict")
        assert (words in row["text"]) is is_filled
        assert row["evidence"] == ("3" if is_filled else "")
    assert re.findall(r"ERROR: (\w+) ", done.log) == ["Undeclared", "Strict"]
    stats = [done.stats[f"tplspider/fields/{name}"] for name in ("items", "undeclared", "refused")]
    assert stats == [str(5 * PAGES), str(PAGES), str(PAGES)]
    assert "Traceback" not in done.log


ENDLESS = """
import time
from tplspider import fields
from .plain import Plain
fields.HELD_SECONDS = 0.5
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


@pytest.mark.parametrize("most", [3, 1000])
def test_a_spider_that_never_idles(project: FieldProject, serve: Serve, most: int) -> None:
    """Items of five sites that are never ready do not wait for longer, nor are there more."""
    project.spider(ENDLESS, "endless")
    servers = [serve("menu", site_routes(f"site{n}", 8, delay=0.1)) for n in range(5)]
    settings = {"TPLSPIDER_HELD_ITEMS": most, "CONCURRENT_REQUESTS": 2}
    done = project.crawl("endless", sites_argument(servers), **settings)
    assert len(project.rows) == 40
    outs = re.findall(r"OUT (\S+) (\S+) (\S+) (\d+)", done.log)
    assert len(outs) == 40
    assert all((url, status) == (shown, "200") for _, url, shown, status in outs)
    if most == 3:
        assert int(done.stats["tplspider/fields/held_max"]) == 3
    else:
        # The first of them meet a worker that has just been started, which may take its time.
        assert sorted(float(waited) for waited, *_ in outs)[20] < done.seconds / 2
    assert int(done.stats["tplspider/fields/given_out_early"]) > 10


def test_wrong_settings_are_one_line(project: FieldProject, three: list[FixtureServer]) -> None:
    """Also if they are those of a spider. Nothing is requested."""
    own = "    custom_settings = {'TPLSPIDER_FIELDS': {'text': 'mian_text'}}\n"
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


@pytest.mark.quick
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
    without = {path for path, row in rows.items() if "text" not in row}
    assert without == {"start", "/pdf", "/xml", "/text"}
    assert rows["/missing"]["status"] == 404
    assert "Not found" in rows["/missing"]["text"]
    assert rows["/empty"]["text"] == ""
    assert own_words("site0", 3) in rows["/page3"]["text"]
    assert len(project.rows) == PAGES + 7
    assert done.stats["tplspider/fields/passed_by"] == "3"
    assert "Traceback" not in done.log


PIPELINES = """
from scrapy.exceptions import DropItem
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
    """One drops items and fails: it meets items that have their text."""
    project.write("other/pipelines.py", PIPELINES)
    project.set('ITEM_PIPELINES = {"other.pipelines.Picky": 2}')
    done = project.crawl("plain", sites_argument(three))
    assert len(project.rows) == 3 * (PAGES - 4)
    assert done.log.count("RuntimeError: a six") == 3 * 2
    assert re.search(r"'item_dropped_count': 6\b", done.log)


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


PAUSES = """
import asyncio
class Pauses:
    @classmethod
    def from_crawler(cls, crawler):
        self = cls()
        self.crawler = crawler
        return self
    async def process_item(self, item):
        for _ in range(300):  # all items wait until there are too many of them
            if self.crawler.engine.paused:
                self.crawler.stats.set_value("tplspider/paused", 1)
            if self.crawler.stats.get_value("tplspider/paused"):
                break
            await asyncio.sleep(0.2)
        return item
"""


def test_a_crawl_that_is_faster_than_its_pipelines(project: FieldProject, serve: Serve) -> None:
    """It is paused, and goes on; the items of a page stay in order."""
    project.spider(MANY_ITEMS)
    project.write("other/pipelines.py", PAUSES)
    project.set('ITEM_PIPELINES = {"other.pipelines.Pauses": 1}')
    project.set("CONCURRENT_ITEMS = 100\nCONCURRENT_REQUESTS_PER_DOMAIN = 16")
    server = serve("menu", site_routes("site0", 60))
    done = project.crawl("many", sites_argument([server]), MANY=100)
    numbers = defaultdict(list)
    for row in project.rows:
        numbers[row["url"]].append(row["number"])
        assert "built by smith" in row["text"]
    assert len(numbers) == 60
    assert all(found == list(range(100)) for found in numbers.values())
    assert done.stats["tplspider/paused"] == "1"
    assert done.finish_reason == "finished"


@pytest.mark.nightly
def test_a_broad_crawl() -> None:
    """No item is lost, and memory is bounded: at most twice that of the plain crawl."""
    command = [sys.executable, "-m", "benchmarks.field_hosts", "--hosts", "300"]
    done = run_command(*command, timeout=None)
    assert done.code == 0, done.stdout + done.log


SLOW = """
import asyncio
class Slow:
    async def process_item(self, item):
        await asyncio.sleep(0.05)
        return item
"""


@pytest.mark.quick
def test_a_signal_loses_nothing(project: FieldProject, slow_three: list[FixtureServer]) -> None:
    project.write("other/pipelines.py", SLOW)
    project.set('ITEM_PIPELINES = {"other.pipelines.Slow": 1}\nCONCURRENT_ITEMS = 4')
    running = project.start("plain", sites_argument(slow_three))
    running.wait_for("MET", 20)
    done = running.end(signal.SIGTERM)
    assert (done.code, done.finish_reason) == (0, "shutdown"), done.log
    assert 20 <= len(project.rows) < 150
    check_rows(done, project.rows, slow_three)
    assert int(done.stats["tplspider/fields/held_max"]) > 10


ENDING = """
from scrapy.exceptions import CloseSpider
from .plain import Plain
class Ending(Plain):
    name = "ending"
    many = 0
    enough = 30
    def page(self, response):
        self.many += 1
        yield from super().page(response)
        if self.many >= int(self.enough):
            self.logger.info("CLOSES as enough%d", self.many)
            raise CloseSpider(f"enough{self.many}")
"""


def test_several_close_the_spider(project: FieldProject, slow_three: list[FixtureServer]) -> None:
    """The others do not overtake the first, which waits for what is held back."""
    project.spider(ENDING)
    done = project.crawl("ending", sites_argument(slow_three))
    reasons = re.findall(r"CLOSES as (\w+)", done.log)
    assert done.finish_reason == reasons[0]
    assert len(reasons) > 1
    assert done.log.count("Closing spider (") == 1
    assert len(project.rows) >= 31  # and those under way, which came after the first had closed it
    check_rows(done, project.rows, slow_three)


@pytest.mark.quick
def test_a_page_that_comes_late(project: FieldProject, serve: Serve) -> None:
    """It was in flight when the crawl was ended, and comes when all others are out."""
    routes = site_routes("site0", 4)
    on_time, asked, may_come = routes["/page3"], Event(), Event()

    def late(request: Handler) -> None:
        asked.set()
        may_come.wait(60)
        on_time(request)

    server = serve("menu", {**routes, "/page3": late})
    running = project.start("plain", sites_argument([server]), LOG_LEVEL="DEBUG")
    running.wait_for("MET", 3)
    assert asked.wait(60)
    running.process.send_signal(signal.SIGINT)
    running.wait_for("Scraped from", 3)
    may_come.set()
    done = running.end()
    assert [row["url"][-1] for row in project.rows][3:] == ["3"]
    check_rows(done, project.rows, [server])


def test_a_worker_is_killed(project: FieldProject, slow_three: list[FixtureServer]) -> None:
    running = project.start("plain", sites_argument(slow_three), LOG_LEVEL="DEBUG")
    running.wait_for("Scraped from", 30)
    (worker,) = running.workers()
    os.kill(worker, signal.SIGKILL)
    done = running.end()
    rows = project.rows
    assert len(rows) == 180
    without = [row["url"] for row in rows if "text" not in row]
    assert len(without) <= 1
    assert done.log.count("cannot be compared, ") == len(without)
    assert int(done.stats.get("tplspider/fields/failed", 0)) == len(without)
    assert {url: sorted(urls) for url, urls in met(done).items()} == {
        server.url: sorted(row["url"] for row in rows if server.url in row["url"])
        for server in slow_three
    }

"""In anybody's spider: no item is lost, whatever ends the crawl."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path
from shutil import copytree
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import PROJECT
from tests.support.field_sites import (
    FieldProject,
    check_rows,
    make_field_project,
    met,
    site_routes,
    sites_argument,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.crawls import FixtureServer
    from tplspider.demo.server import Handler

    Serve = Callable[..., FixtureServer]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_field_project(tmp_path_factory.mktemp("made") / "project").folder


@pytest.fixture
def project(tmp_path: Path, made: Path) -> FieldProject:
    return FieldProject(copytree(made, tmp_path / "project"), PROJECT)


@pytest.fixture
def slow_three(serve: Serve) -> list[FixtureServer]:
    """Three sites that take their time, so that a crawl can be ended in the middle."""
    return [serve("menu", site_routes(f"site{n}", 60, delay=0.05)) for n in range(3)]


SLOW = """
import asyncio


class Slow:
    async def process_item(self, item):
        await asyncio.sleep(0.05)
        return item
"""


@pytest.mark.parametrize("pipeline", ["", '{"other.pipelines.Slow": 1}'])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_loses_nothing(
    project: FieldProject, slow_three: list[FixtureServer], sent: signal.Signals, pipeline: str
) -> None:
    project.write("other/pipelines.py", SLOW)
    project.set(f"ITEM_PIPELINES = {pipeline or {}}\nCONCURRENT_ITEMS = 4")
    running = project.start("plain", sites_argument(slow_three))
    running.wait_for("MET", 20)
    done = running.end(sent)
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


def test_several_who_close_the_spider(
    project: FieldProject, slow_three: list[FixtureServer]
) -> None:
    """The others do not overtake the first, which waits for what is held back."""
    project.spider(ENDING)
    done = project.crawl("ending", sites_argument(slow_three))
    reasons = re.findall(r"CLOSES as (\w+)", done.log)
    assert done.finish_reason == reasons[0]
    assert len(reasons) > 1
    assert done.log.count("Closing spider (") == 1
    assert len(project.rows) >= 31  # and those under way, which came after the first had closed it
    check_rows(done, project.rows, slow_three)


def test_the_last_page_closes_the_spider(project: FieldProject, serve: Serve) -> None:
    """There is nothing under way that Scrapy would wait for, and all items are held back."""
    project.spider(ENDING)
    server = serve("menu", site_routes("site0", 8))
    settings = {"CONCURRENT_REQUESTS": 1, "TPLSPIDER_EXTRACT_WORKERS": 1}
    done = project.crawl("ending", sites_argument([server]), "-aenough=8", **settings)
    assert done.finish_reason == "enough8"
    assert len(project.rows) == 8
    check_rows(done, project.rows, [server])


def test_a_page_that_comes_late(project: FieldProject, serve: Serve) -> None:
    """It was under way when the crawl was ended, and comes when all others are out."""
    routes = site_routes("site0", 4)
    on_time = routes["/page3"]

    def late(request: Handler) -> None:
        time.sleep(4)
        on_time(request)

    server = serve("menu", {**routes, "/page3": late})
    running = project.start("plain", sites_argument([server]), LOG_LEVEL="DEBUG")
    running.wait_for("MET", 3)
    time.sleep(0.5)  # the last is asked for
    running.process.send_signal(signal.SIGINT)
    running.wait_for("Scraped from", 3)
    assert "page3" not in running.log.partition("Scraped from")[2]
    done = running.end()
    assert [row["url"][-1] for row in project.rows][3:] == ["3"]
    check_rows(done, project.rows, [server])


def test_a_limit_of_scrapy(project: FieldProject, serve: Serve) -> None:
    servers = [serve("menu", site_routes(f"site{n}", 400, delay=0.02)) for n in range(3)]
    done = project.crawl("plain", sites_argument(servers), CLOSESPIDER_ITEMCOUNT=25)
    assert done.finish_reason == "closespider_itemcount"
    assert len(project.rows) < 600
    check_rows(done, project.rows, servers)


def test_a_worker_that_is_killed_costs_one_page(
    project: FieldProject, slow_three: list[FixtureServer]
) -> None:
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


MAKES_REQUESTS = """
from scrapy import Request


class More:
    @classmethod
    def from_crawler(cls, crawler):
        self = cls()
        self.crawler = crawler
        return self

    def process_item(self, item):
        assert "built by smith" in item["text"]
        if "more" not in item["url"]:
            spider = self.crawler.spider
            request = Request(item["url"].replace("page", "more"), spider.page)
            self.crawler.engine.crawl(request)
        return item
"""


def test_requests_that_pipelines_make_of_the_last_items(
    project: FieldProject, serve: Serve
) -> None:
    project.write("other/pipelines.py", MAKES_REQUESTS)
    project.set('ITEM_PIPELINES = {"other.pipelines.More": 1}')
    routes = site_routes("site0", 6)
    more = {f"/more{n}": routes[f"/page{n}"] for n in range(6)}
    done = project.crawl("plain", sites_argument([serve("menu", {**routes, **more})]))
    assert len({row["url"] for row in project.rows}) == len(project.rows) == 12
    assert done.finish_reason == "finished"


FED = """
from scrapy import Request, signals
from scrapy.exceptions import DontCloseSpider
from .plain import Plain


class Fed(Plain):
    name = "fed"

    @classmethod
    def from_crawler(cls, crawler, *args, **kwargs):
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.later, spider.start_urls = spider.start_urls[1:], spider.start_urls[:1]
        crawler.signals.connect(spider.feed, signals.spider_idle)
        return spider

    def feed(self):
        if self.later:
            self.crawler.engine.crawl(Request(self.later.pop(0)))
            raise DontCloseSpider
"""


def test_a_spider_that_is_fed_when_it_is_idle(project: FieldProject, serve: Serve) -> None:
    """Each time all is given out, and then it goes on; no item waits for the next site."""
    project.spider(FED)
    servers = [serve("menu", site_routes(f"site{n}", 6)) for n in range(3)]
    start = time.monotonic()
    done = project.crawl("fed", sites_argument(servers))
    assert time.monotonic() - start < 40
    assert len(project.rows) == 18
    check_rows(done, project.rows, servers)
    assert int(done.stats["tplspider/fields/held_max"]) < 12


def test_a_hung_worker_does_not_hold_up_the_end(
    project: FieldProject, slow_three: list[FixtureServer]
) -> None:
    running = project.start(
        "plain", sites_argument(slow_three), LOG_LEVEL="DEBUG", TPLSPIDER_EXTRACT_SECONDS=3
    )
    running.wait_for("Scraped from", 5)
    (worker,) = running.workers()
    os.kill(worker, signal.SIGSTOP)
    start = time.monotonic()
    done = running.end(signal.SIGTERM)
    assert time.monotonic() - start < 30
    assert int(done.stats["tplspider/fields/failed"]) > 0
    assert sorted(row["url"] for row in project.rows) == sorted(
        url for urls in met(done).values() for url in urls
    )


def test_a_second_signal_ends_it_at_once(
    project: FieldProject, slow_three: list[FixtureServer]
) -> None:
    """Then what is held back is lost, but nothing is left behind."""
    project.write("other/pipelines.py", SLOW.replace("0.05", "5"))
    project.set('ITEM_PIPELINES = {"other.pipelines.Slow": 1}\nCONCURRENT_ITEMS = 1')
    running = project.start("plain", sites_argument(slow_three), LOG_LEVEL="DEBUG")
    running.wait_for("MET", 30)
    workers = running.workers()
    running.process.send_signal(signal.SIGINT)
    running.wait_for("Received SIGINT")
    start = time.monotonic()
    running.end(signal.SIGINT)
    assert time.monotonic() - start < 20
    while any(Path(f"/proc/{worker}").exists() for worker in workers):
        assert time.monotonic() - start < 30
        time.sleep(0.1)

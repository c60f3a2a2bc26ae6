"""Sites with a template, and a third-party project that crawls them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.crawls import PROJECT, SETTINGS, Crawl, FixtureServer, Routes
from tests.support.odd_extractors import workers_of
from tests.support.other_project import NAME, Project
from tests.support.site_server import Handler

ADDON = 'ADDONS = {"tplspider.addon.Addon": 500}\n'
FIELDS = '{"text": "main_text", "evidence": "evidence"}'
MENU = ("Bicycles", "Tandems", "Unicycles", "Tricycles")
FOOT = "Opened every day but Monday, from nine to five in the afternoon."

# A plain CrawlSpider over the sites that it is given.
SPIDER = """
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

class Plain(CrawlSpider):
    name = "plain"
    rules = [Rule(LinkExtractor(allow="/page"), callback="page", follow=True)]

    def __init__(self, sites="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = sites.split()

    def page(self, response):
        self.logger.info("MET %s", response.url)
        yield {"url": response.url, "title": response.css("title::text").get()}
"""


def own_words(site: str, number: int) -> str:
    return (
        f"The {number * 37 % 101}th wheel of {site} was built by smith number {number}, and kept."
    )


def page_html(site: str, number: int, links: Iterable[str]) -> str:
    """A page: what it shares with others of its site, and a few words of its own."""
    menu = "".join(f"<li><a href=/{word.lower()}>{word} of {site}</a></li>" for word in MENU)
    more = "".join(f"<li><a href={link}>{link}</a></li>" for link in links)
    return (
        f"<!DOCTYPE html><html><head><title>{site} {number}</title></head><body>"
        f"<div id=top><h2>Museum {site}</h2><ul>{menu}</ul></div>"
        f"<div id=main><h1>Wheel {number}</h1><p>{own_words(site, number)}</p></div>"
        f"<div id=more><ul>{more}</ul></div><div id=foot><p>{FOOT}</p></div></body></html>"
    )


def site_routes(site: str, pages: int, *, delay: float = 0) -> Routes:
    """A site whose pages /page0, /page1 ... link to the next three; / links to the first."""

    def route(number: int) -> Callable[[Handler], object]:
        links = [f"/page{n}" for n in range(number + 1, min(number + 4, pages))]
        body = page_html(site, number, links or ["/"]).encode()

        def answer(request: Handler) -> None:
            time.sleep(delay)
            request.answer(200, body, Content_Type="text/html")

        return answer

    routes = {f"/page{number}": route(number) for number in range(pages)}
    return {"/": route(-1), **routes, "/robots.txt": lambda request: request.answer(404)}


@dataclass
class FieldProject(Project):
    """A project made by ``scrapy startproject`` whose items get fields."""

    def crawl(self, name: str = "plain", *options: str, **settings: object) -> Crawl:
        return self.run("crawl", name, "-Oout.jl", *options, settings=_texts(settings))

    def start(self, name: str = "plain", *options: str, **settings: object) -> "RunningCrawl":
        arguments = [f"-s{key}={value}" for key, value in _texts(settings).items()]
        command = [sys.executable, "-m", "scrapy", "crawl", name, "-Oout.jl", *options, *arguments]
        env = {**os.environ, "PYTHONPATH": self.path}
        with (self.folder / "log.txt").open("wb") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=env, stderr=log)
        return RunningCrawl(process, self)

    def spider(self, source: str, name: str = "more") -> None:
        self.write(f"{NAME}/spiders/{name}.py", source)

    @property
    def rows(self) -> list[dict[str, Any]]:
        lines = (self.folder / "out.jl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]


@dataclass
class RunningCrawl:
    process: subprocess.Popen[bytes]
    project: FieldProject

    @property
    def log(self) -> str:
        return (self.project.folder / "log.txt").read_text("utf-8")

    def wait_for(self, words: str, count: int = 1) -> None:
        """Wait until the log has these words so many times."""
        end = time.monotonic() + 60
        while self.log.count(words) < count:
            assert self.process.poll() is None, self.log
            assert time.monotonic() < end, self.log
            time.sleep(0.02)

    def workers(self) -> list[int]:
        return workers_of(self.process.pid)

    def end(self, sent: signal.Signals | None = None) -> Crawl:
        if sent is not None:
            self.process.send_signal(sent)
        try:
            code = self.process.wait(90)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise AssertionError(self.log) from None
        return Crawl(code, "", self.log, self.project.folder)


def make_field_project(folder: Path) -> FieldProject:
    """A new project in a folder, with the add-on and a plain spider."""
    folder.mkdir(exist_ok=True)
    project = FieldProject(folder, PROJECT)
    project.run("startproject", NAME, ".", settings={})
    project.set(ADDON + "DOWNLOAD_DELAY = 0\nROBOTSTXT_OBEY = False")
    project.spider(SPIDER, "plain")
    return project


def _texts(settings: Mapping[str, object]) -> dict[str, str]:
    fields = {"TPLSPIDER_FIELDS": FIELDS}
    given = {name: str(value) for name, value in settings.items()}
    return {**SETTINGS, "LOG_LEVEL": "INFO", **fields, **given}


def sites_argument(servers: Iterable[FixtureServer]) -> str:
    return f"-asites={' '.join(server.url + '/' for server in servers)}"


def met(done: Crawl) -> dict[str, list[str]]:
    """The addresses of the pages whose items were given, in order, by their sites."""
    found = defaultdict(list)
    for url in re.findall(r"MET (\S+)", done.log):
        found[url.rpartition("/")[0]].append(url)
    return found


def check_rows(done: Crawl, rows: list[dict[str, Any]], servers: list[FixtureServer]) -> None:
    """Every item that the spider gave is there, with its text, in order within its site."""
    by_site = defaultdict(list)
    for row in rows:
        by_site[row["url"].rpartition("/")[0]].append(row["url"])
        name = next(f"site{n}" for n, server in enumerate(servers) if server.url in row["url"])
        number = int(row["url"].rpartition("page")[2])
        assert own_words(name, number) in row["text"], row
        if row["evidence"]:
            assert FOOT not in row["text"]
    assert by_site == met(done)
    assert "Traceback" not in done.log
    assert sum(row["evidence"] > 0 for row in rows) > len(rows) / 2

"""Scrapy's own feeds with a journal behind them, without a crawl; and a process that is killed.

``python -m tests.support.fed_feeds FOLDER KILLS SEED`` writes searches in a process that it kills
again and again, at random moments, and starts again until all are done. It prints how many were
left for the last start.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
import traceback
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from scrapy.crawler import Crawler
from scrapy.extensions.feedexport import FeedExporter
from scrapy.settings import Settings
from scrapy.utils.misc import load_object

from tplspider.items import CandidateSearch, TemplateCandidate
from tplspider.old.crawl.batch.journal import Journal
from tplspider.old.crawl.batch.journal_file import NAME
from tplspider.old.crawl.outputs.feeds import OutputPlan, add_feeds, plan_outputs
from tplspider.old.crawl.outputs.lost import OutputWatch
from tplspider.old.crawl.outputs.resumable import describe
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from typing import Self

SEARCHES = 300


def candidate(number: int, rank: int) -> TemplateCandidate:
    values = {"rank": rank, "title": f"Straße {number},\n{rank}", "search_id": f"s{number}"}
    return TemplateCandidate(**{**_blank(TemplateCandidate), **values})


def summary(number: int) -> CandidateSearch:
    return CandidateSearch(**{**_blank(CandidateSearch), "search_id": f"s{number}"})


def _blank(item_class: type) -> dict[str, Any]:
    needed = (f for f in fields(item_class) if f.default is f.default_factory is MISSING)
    hints = get_type_hints(item_class)
    return {field.name: hints[field.name]() for field in needed}


class FedFeeds:
    """What a crawl with JOBDIR does for its feeds, step by step."""

    def __init__(
        self,
        jobdir: Path,
        feeds: dict[str, dict[str, Any]],
        *,
        sync: bool = False,
        settings: dict[str, Any] | None = None,
        **args: str,
    ) -> None:
        given = Settings({**(settings or {}), "FEEDS": feeds})
        self.crawler = Crawler(TemplateCandidatesSpider, given)
        in_force = self.crawler.settings
        self.spider = TemplateCandidatesSpider(url="http://127.0.0.1/", **args)
        self.spider.crawler, self.spider.settings = self.crawler, in_force
        self.plan: OutputPlan = plan_outputs(
            in_force, self.spider.arguments, self.spider, journal=jobdir / NAME
        )
        Journal.check(jobdir, describe(self.plan), self.plan.files)
        self.journal = Journal.open(jobdir, sync=sync)
        try:
            self.journal.bind(describe(self.plan))
            self.journal.feeds.start(self.plan.files)
        except ValueError:
            self.journal.close()
            raise
        add_feeds(in_force, self.plan, self.journal.feeds)
        OutputWatch(self.crawler, self.journal.feeds)
        self.crawler.addons.load_settings(in_force)
        self.crawler.stats = load_object(in_force["STATS_CLASS"])(self.crawler)
        self.exporter = FeedExporter.from_crawler(self.crawler)
        self.exporter.open_spider(self.spider)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.feeds.cut_back()
        asyncio.run(self.exporter.close_spider(self.spider))
        self.journal.close()

    def write(self, *items: object) -> None:
        for item in items:
            self.exporter.item_scraped(item, self.spider)


def rows_of(number: int) -> int:
    return number * 7 % 6 + 1


def write_all(folder: Path, *, sync: bool, progress: int) -> None:
    """Write what is left of the searches to three feeds, with a byte of progress for each."""
    feeds: dict[str, dict[str, Any]] = {
        str(folder / "out.jl"): {"format": "jl", "overwrite": True},
        str(folder / "more" / "out.csv"): {"format": "csv"},
    }
    with FedFeeds(folder / "job", feeds, sync=sync, summary=str(folder / "s.csv")) as fed:
        for number in range(1, SEARCHES + 1):
            mark = number.to_bytes(8, "big")
            if fed.journal.is_done(number, mark):
                continue
            fed.journal.begin(f"s{number}", "", alone=False)
            fed.write(*(candidate(number, rank) for rank in range(rows_of(number))))
            time.sleep(0.0005)
            fed.write(summary(number))
            fed.journal.commit(lines=[(number, mark)], search_id=f"s{number}", summary={})
            os.write(progress, b".")


def kill_again_and_again(folder: Path, kills: int, seed: int, *, sync: bool) -> None:
    """Fork: the child writes, and this process kills it; what is imported is imported once."""
    chance = random.Random(seed)
    for turn in range(kills):
        child, progress = _start(folder, sync=sync)
        if turn % 4:  # while it writes
            for _ in range(chance.randrange(SEARCHES // kills)):
                os.read(progress, 1)
            time.sleep(chance.uniform(0, 0.002))
        else:  # while it begins
            time.sleep(chance.uniform(0, 0.06))
        os.kill(child, signal.SIGKILL)
        assert os.WIFSIGNALED(os.waitpid(child, 0)[1])
        os.close(progress)
    child, progress = _start(folder, sync=sync)
    left = 0
    while os.read(progress, 1):
        left += 1
    assert os.waitpid(child, 0)[1] == 0
    print(left)


def _start(folder: Path, *, sync: bool) -> tuple[int, int]:
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(writing)
        return child, reading
    try:
        write_all(folder, sync=sync, progress=writing)
    except BaseException:  # noqa: BLE001 - this process ends here
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    kill_again_and_again(
        Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sync=sys.argv[4:] == ["sync"]
    )

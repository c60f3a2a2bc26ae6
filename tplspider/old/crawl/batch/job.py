"""What a crawl writes, and what it remembers: JOBDIR, as Scrapy users know it."""

from __future__ import annotations

import logging
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tplspider.old.crawl.batch.background import is_stream
from tplspider.old.crawl.batch.forgetful_journal import ForgetfulJournal
from tplspider.old.crawl.batch.journal import Journal
from tplspider.old.crawl.batch.journal_file import NAME
from tplspider.old.crawl.config import PRIORITY, Config
from tplspider.old.crawl.outputs.confined import argument_path, is_of_scrapyd
from tplspider.old.crawl.outputs.feeds import add_feeds, plan_outputs
from tplspider.old.crawl.outputs.resumable import describe

if TYPE_CHECKING:
    from pathlib import Path

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from tplspider.old.crawl.arguments import Arguments
    from tplspider.old.crawl.outputs.feeds import OutputPlan
    from tplspider.old.crawl.outputs.resumable import FeedFiles

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Job:
    """The journal of a crawl, and its outputs; *can_go_on* after a restart, if it has a JOBDIR."""

    journal: Journal
    plan: OutputPlan
    can_go_on: bool

    @property
    def feed_files(self) -> FeedFiles | None:
        """The files of feeds that go on where the journal says."""
        return self.journal.feeds if self.can_go_on else None


def open_job(crawler: Crawler, spider: Spider, arguments: Arguments) -> Job:
    """Open the journal of a crawl that begins or goes on, and let Scrapy write its feeds."""
    settings = crawler.settings
    folder = job_folder(settings)
    _keep_from_scrapy(settings)
    plan = plan_outputs(settings, arguments, spider, journal=folder and folder / NAME)
    is_anew = getattr(getattr(spider, "inputs", None), "anew", False)
    kind = ForgetfulJournal if is_anew else Journal
    journal = kind.open(folder, sync=Config.of(settings).sync)
    if folder:
        journal.bind(_description(arguments, plan))
        journal.feeds.start(plan.files)
    job = Job(journal, plan, can_go_on=folder is not None)
    add_feeds(settings, plan, job.feed_files)
    return job


def check_job(
    settings: BaseSettings, spider: Spider, arguments: Arguments, *, printed: str = ""
) -> None:
    """Raise ValueError, in one line, when a crawl cannot write its outputs or go on."""
    folder = job_folder(settings)
    journal = folder and folder / NAME
    plan = plan_outputs(settings, arguments, spider, printed=printed, journal=journal)
    if folder:
        if printed:
            raise ValueError(
                f"JOBDIR: {printed} on standard output cannot go on after a restart:"
                " use scrapy crawl template_candidates with -a template=FILE.jl"
            )
        if is_stream(arguments.urls):
            label = f"urls={arguments.urls!r}"
            raise ValueError(f"{label} cannot be read again after a restart (JOBDIR): give a file")
        Journal.check(folder, _description(arguments, plan), plan.files)


def job_folder(settings: BaseSettings) -> Path | None:
    """The folder that JOBDIR names; None without one."""
    name = settings.get("JOBDIR")
    if not name or is_of_scrapyd(str(name), "jobs_dir"):
        return None
    config = Config.of(settings)
    label = f"JOBDIR={str(name)!r}"
    return argument_path(label, str(name), confine=config.confine, folder=config.feeds_dir)


def _keep_from_scrapy(settings: BaseSettings) -> None:
    """Let Scrapy go without a JOBDIR: the journal alone says what is left to do.

    Scrapy would put requests into files of its own there, which do not survive a kill.
    """
    name = settings.get("JOBDIR")
    if not name or settings.frozen:
        return
    if is_of_scrapyd(str(name), "jobs_dir"):
        logger.warning("The JOBDIR of scrapyd's jobs_dir is ignored: no other job will have it")
    settings.set("JOBDIR", None, priority=PRIORITY)


def _description(arguments: Arguments, plan: OutputPlan) -> dict[str, str]:
    """What must be the same when a crawl goes on."""
    outputs = ("summary", "template", "save_html", "report", "warc", "credentials")
    given = {name: value for name, value in asdict(arguments).items() if name not in outputs}
    if arguments.urls:
        given["urls"] = os.path.realpath(arguments.urls)
    told = {name: repr(value) for name, value in given.items() if value != ""}
    if plan.pages:
        told["save_html"] = repr(plan.pages)
    if plan.report:
        told["report"] = repr(str(plan.report.path))
    return {**told, **describe(plan)}

"""What ``scrapy archive`` is to do, worked out and checked before anything is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Spider
from scrapy.utils.conf import arglist_to_dict

from tplspider.old.crawl.archive.feeds import archive_feeds, feed_file, outputs_of
from tplspider.old.crawl.archive.files import archive_files, cdxj_files, check_extra
from tplspider.old.crawl.archive.key_lines import host_name
from tplspider.old.crawl.arguments import OPTIONS, check_options
from tplspider.old.crawl.batch.background import is_stream
from tplspider.old.crawl.batch.job import job_folder
from tplspider.old.crawl.batch.journal import Journal
from tplspider.old.crawl.batch.journal_file import NAME
from tplspider.old.crawl.batch.key_list import open_list
from tplspider.old.crawl.config import Config, check_names
from tplspider.old.crawl.outputs.check import check_outputs
from tplspider.old.crawl.outputs.names import Fields
from tplspider.old.crawl.outputs.plan import OutputNames
from tplspider.old.crawl.outputs.report_place import check_report, report_place
from tplspider.old.crawl.preflight import search_limits
from tplspider.old.crawl.strip.plan import worker_count
from tplspider.search.session import SearchLimits, SearchOptions

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from tplspider.old.crawl.archive.feeds import ResultFeed
    from tplspider.old.crawl.outputs.report_place import ReportPlace


@dataclass(frozen=True)
class ArchivePlan:
    """Files, key pages, and where the rows go.

    Key pages are those of a list (*keys*), or so many of each host (*every*).
    """

    files: tuple[Path, ...]
    index: Path | None
    cdxj: tuple[Path, ...]
    options: SearchOptions
    limits: SearchLimits
    largest: int
    keys: str
    column: str
    every: int
    hosts: tuple[str, ...]
    feeds: list[ResultFeed]
    report: ReportPlace | None
    job: Path | None
    workers: int
    wants_template: bool
    config: Config

    @property
    def description(self) -> dict[str, str]:
        """What must be the same when it goes on after a restart."""
        told = {
            "files": " ".join(os.path.realpath(file) for file in self.files),
            "options": repr(self.options),
            "-i": os.path.realpath(self.keys) if self.keys else "",
            "--every": str(self.every or ""),
            "--host": " ".join(self.hosts),
            "--report": str(self.report.path) if self.report else "",
        }
        feeds = {f"feed {str(feed.path)!r}": feed.description for feed in self.feeds}
        return {**{name: value for name, value in told.items() if value}, **feeds}


def plan_archive(args: list[str], opts: argparse.Namespace, settings: BaseSettings) -> ArchivePlan:
    """The plan for the arguments of a command; ValueError, in one line, if they will not do."""
    if unknown := [arg for arg in args if arg.startswith("-")]:
        guess = ": did you mean -O?" if unknown[0].startswith("-o") else ""
        raise ValueError(f"unknown option {unknown[0]!r}{guess}")
    if not args:
        raise ValueError("give one or more WARC files")
    if opts.keys and opts.every:
        raise ValueError("-i FILE or --every K, not both")
    if not opts.keys and not opts.every:
        raise ValueError("give key pages: a list with -i FILE, or some of each host, --every K")
    check_names(settings)
    check_extra()
    config = Config.of(settings)
    options, column = _options(opts)
    names = {"-O": opts.candidates, "--summary": opts.summary, "--template": opts.template}
    job = job_folder(settings)
    feeds = archive_feeds(names, settings, growing=job is not None)
    if not feeds and not opts.report:
        raise ValueError("give at least one of -O, --summary, --template and --report")
    many = not (opts.keys and not is_stream(opts.keys) and _is_one(opts.keys, column))
    output_names = OutputNames(settings, config, Fields(Spider(name="archive")))
    report = report_place(output_names, opts.report or "", many=many)
    journal = job and job / NAME
    log = settings.get("LOG_FILE") or ""
    outputs = outputs_of(feeds)
    with_report = [*outputs, *(report.outputs if report else ())]
    files = archive_files(args)
    inputs = _inputs(files, opts)
    check_outputs(with_report, None, log=log, journal=journal, inputs=inputs)
    if report:
        others = {"the log": Path(log) if log else None, "the journal (JOBDIR)": journal}
        check_report(report, outputs, None, others)
    wants_template = bool(opts.template or config.template)
    plan = ArchivePlan(
        files=files,
        index=Path(opts.index) if opts.index else None,
        cdxj=cdxj_files(opts.cdxj),
        options=options,
        limits=search_limits(settings, for_template=wants_template),
        largest=settings.getint("DOWNLOAD_MAXSIZE") or 2**62,
        keys=opts.keys or "",
        column=column,
        every=_every(opts.every) if opts.every else 0,
        hosts=tuple(sorted({host_name(each) for each in opts.hosts or ()})),
        feeds=feeds,
        report=report,
        job=job,
        workers=worker_count(opts.workers, config, settings),
        wants_template=wants_template,
        config=config,
    )
    _check_keys_and_job(plan)
    return plan


def _inputs(files: tuple[Path, ...], opts: argparse.Namespace) -> dict[Path, str]:
    """What must not be overwritten."""
    found = dict.fromkeys(files, "the archive")
    found |= dict.fromkeys(map(Path, opts.cdxj or ()), "--cdxj")
    if opts.keys and not is_stream(opts.keys):
        found[Path(opts.keys)] = "the key pages (-i)"
    if opts.index:
        found[Path(opts.index)] = "the index"
    return found


def _check_keys_and_job(plan: ArchivePlan) -> None:
    if plan.keys and not is_stream(plan.keys):
        _as_given(plan.keys, plan.column)
    if plan.job:
        if plan.keys and is_stream(plan.keys):
            raise ValueError(f"-i {plan.keys!r} cannot be read again after a restart: give a file")
        Journal.check(plan.job, plan.description, [feed_file(feed) for feed in plan.feeds])


def _options(opts: argparse.Namespace) -> tuple[SearchOptions, str]:
    try:
        given: dict[str, object] = dict(arglist_to_dict(opts.spargs))
    except ValueError:
        raise ValueError("-a: expected NAME=VALUE") from None
    if opts.n is not None:
        given["n"] = opts.n
    column = str(given.pop("column", ""))
    if unknown := [name for name in given if name not in OPTIONS]:
        known = ", ".join((*OPTIONS, "column"))
        raise ValueError(f"unknown argument {unknown[0]!r} (arguments: {known})")
    return check_options(given, SearchOptions()), column


def _as_given(keys: str, column: str) -> None:
    """Open a list once, to see whether it can be."""
    try:
        open_list(keys, column).close()
    except ValueError as error:
        raise ValueError(str(error).replace("urls=", "-i ", 1)) from None


def _is_one(keys: str, column: str) -> bool:
    _as_given(keys, column)
    with open_list(keys, column) as lines:
        return lines.count() == 1


def _every(given: str) -> int:
    if not (given.isascii() and given.isdecimal() and len(given) < 10 and int(given)):
        raise ValueError(f"--every {given!r}: expected a whole number, 1 or more")
    return int(given)

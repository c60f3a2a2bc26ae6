"""The key pages of a list, as jobs: read where the driver runs, by the rules of crawls."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tplspider.old.crawl.archive.answers import unsearched
from tplspider.old.crawl.archive.key_lines import host_name, of_hosts
from tplspider.old.crawl.arguments import OPTIONS, check_options
from tplspider.old.crawl.batch.key_list import open_list
from tplspider.old.crawl.batch.list_line import ListLine
from tplspider.old.crawl.key_page import key_page_of_line
from tplspider.old.extraction.extractors import one_line
from tplspider.search.answer import unanswered
from tplspider.search.session import SearchOptions
from tplspider.sources.unread import Unread
from tplspider.spark.capturing import key_of
from tplspider.spark.careful import in_child, needs_care
from tplspider.spark.joined_site import JoinedSite, StoredPlace, place_from
from tplspider.spark.searching import KeyJob, KeyLine
from tplspider.spark.stored_files import StoredFiles
from tplspider.spark.table_columns import ASKED, HOST_KEYS, batches_of, unread_row
from tplspider.stripping.outcomes import UNREADABLE
from tplspider.web.page import BAD_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa


__all__ = ["HostKeys", "asking_row", "host_name", "list_jobs", "search_options"]

logger = logging.getLogger(__name__)

_BATCH = 200


def search_options(given: Iterable[str], n: str | None) -> tuple[SearchOptions, str]:
    """The options that are given as NAME=VALUE, and the column that addresses are in."""
    values: dict[str, object] = {}
    for each in given:
        name, equals, value = each.partition("=")
        if not equals:
            raise ValueError(f"-a {each!r}: expected NAME=VALUE")
        values[name] = value
    if n is not None:
        values["n"] = n
    column = str(values.pop("column", ""))
    if unknown := [name for name in values if name not in OPTIONS]:
        known = ", ".join((*OPTIONS, "column"))
        raise ValueError(f"unknown argument {unknown[0]!r} (arguments: {known})")
    return check_options(values, SearchOptions()), column


def list_jobs(
    keys: str, column: str, options: SearchOptions, hosts: Iterable[str] = ()
) -> dict[int, KeyJob]:
    """The jobs of a list by their first lines; ValueError, in one line, if it cannot be read."""
    jobs: dict[int, KeyJob] = {}
    known: dict[str, int] = {}  # jobs by their searches
    wanted = frozenset(hosts)
    try:
        with open_list(keys, column) as lines:
            for line in of_hosts(lines, wanted) if wanted else lines:
                _add(line, options, jobs, known)
    except ValueError as error:
        raise ValueError(str(error).replace("urls=", "--keys ", 1)) from None
    return jobs


def _add(
    line: ListLine, options: SearchOptions, jobs: dict[int, KeyJob], known: dict[str, int]
) -> None:
    try:
        page = key_page_of_line(line, options)
    except ValueError as error:
        end = replace(
            unsearched(line, BAD_INPUT, str(error)),
            line=line.number or None,
            input=dict(line.input) if line.input else None,
        )
        jobs[line.number] = KeyJob("", [], options, vars(end))
        return
    own = KeyLine(line.number or None, page.requested_url, dict(line.input) if line.input else None)
    first = known.setdefault(page.search_id, line.number)
    if first in jobs:
        jobs[first].lines.append(own)
    else:
        jobs[first] = KeyJob(page.url, [own], page.options)


def asking_row(number: int, job: KeyJob) -> dict[str, Any]:
    """A job as it is put in; the first thing to be looked up is its key page."""
    try:
        asked = [key_of(job.url)] if job.url else []
    except ValueError:
        asked = []
    nothing: dict[str, Any] = dict.fromkeys(ASKED.names)
    row = {"number": number, "job": job.to_json(), "search": job.search_id, "asked": asked}
    return {**nothing, **row, "deep": False}


@dataclass(frozen=True)
class HostKeys:
    """Key pages by their places in an archive, in rows of ``number`` and ``place``.

    It runs in workers: addresses are read from the records. What cannot be read has a row, too.
    """

    names: Any  # a Broadcast
    base: str
    options: SearchOptions

    def table(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark is given."""
        return batches_of(self._rows(batches), HOST_KEYS, _BATCH)

    def _rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
        with StoredFiles() as stored:
            site, is_careful = JoinedSite(stored, self.names.value, self.base), needs_care()
            for batch in batches:
                for row in batch.to_pylist():
                    number, place = row["number"], place_from(row["place"])
                    read = partial(_url_at, site, place)
                    url, unread = (in_child(read) if is_careful else read()) or ("", Unread())
                    if url:
                        jobs: dict[int, KeyJob] = {}
                        line = ListLine(number, {"url": url}, None, text=url)
                        _add(line, self.options, jobs, {})
                        job = jobs[number]
                    else:
                        where = f"{site.place_name(place)} at {place.offset}"
                        told = unread.why or f"{where}: this is not what the index says"
                        end = unanswered("", UNREADABLE, told, line=number)
                        job = KeyJob("", [], self.options, vars(end))
                    yield {**asking_row(number, job), **unread_row(*unread)}


def _url_at(site: JoinedSite, place: StoredPlace) -> tuple[str, Unread]:
    site.take_unread()
    try:
        url = site.url_at(place)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it costs this page alone
        logger.error("%s: %s", site.place_name(place), one_line(error))  # noqa: TRY400 - one line
        url = ""
    return url, site.take_unread()

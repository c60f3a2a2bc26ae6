"""The searches of the page: one crawl makes all of them."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress
from dataclasses import asdict
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from tplspider import signals
from tplspider.arguments import (
    check_options,
    key_address,
    masked,
    read_credentials,
    without_credentials,
)
from tplspider.keylist import KeyLine
from tplspider.plugins.ui.access import RefusedError
from tplspider.plugins.ui.store import LOST, MOST, Run
from tplspider.report.words import answer_words, reason_words
from tplspider.search.answer import LONGEST
from tplspider.search.cliques import CANCELLED
from tplspider.search.kinds import KINDS
from tplspider.search.session import SearchOptions
from tplspider.web.html import Link
from tplspider.web.page import NO_LINKS, NOT_LOADED
from tplspider.web.similarity import similarity
from tplspider.web.text import storable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from tplspider.items import CandidateSearch
    from tplspider.plugins.ui.store import Store
    from tplspider.results import SearchAnswer
    from tplspider.search.cliques import SubdigraphSearch, Visit
    from tplspider.search.session import SearchSession

logger = logging.getLogger(__name__)

_DEFAULTS = SearchOptions(strategy=KINDS)  # the text is wanted


def read_lines(
    addresses: str, options: Mapping[str, object]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The searches that the lines of a text ask for, and the lines that cannot be searched.

    Empty lines and those that start with ``#`` are skipped. Raises ValueError if an option is
    wrong, or there are too many lines.
    """
    chosen = check_options(options, _DEFAULTS)
    wanted: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for number, line in enumerate(addresses.splitlines(), 1):
        given = line.strip()
        if not given or given.startswith("#"):
            continue
        if len(wanted) + len(refused) == MOST:
            raise RefusedError(413, f"more than {MOST} addresses at once")
        try:
            read_credentials(given, key_address(given))
        except ValueError as error:
            why = str(error).removeprefix("url: ")[:600]
            refused.append({"line": number, "url": masked(given)[:300], "reason": why})
        else:
            wanted.append({"url": given, "n": chosen.n, "strategy": chosen.strategy})
    return wanted, refused


class OpenSearch:
    """An open search, and its events so far."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.search_id = ""  # in the crawl, once it has begun
        self.pages: dict[int, dict[str, Any]] = {}  # that links led to, by rank
        self._events: list[dict[str, Any]] = []
        self._changed = asyncio.Event()

    def add(self, event: str, **values: Any) -> None:
        """Add an event for those who follow."""
        self._events.append({"event": event, **values})
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def follow(self) -> AsyncIterator[list[dict[str, Any]]]:
        """All events, from the first one until the search ends."""
        place = 0
        while not place or self._events[place - 1]["event"] != "ended":
            if place == len(self._events):
                await self._changed.wait()
            fresh, place = self._events[place:], len(self._events)
            yield fresh


def _member(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"rank": row["rank"], "url": row["url"], "title": row["title"] or row["anchor_text"]}


def outcome(summary: CandidateSearch, *, has_text: bool) -> str:
    """The state of a finished search, in a word."""
    if summary.complete or summary.method == "pool":
        return "complete"
    if summary.cs_size:
        return "partial"
    if summary.key_outcome == NOT_LOADED or (summary.reason == CANCELLED and not has_text):
        return "stopped"
    if summary.key_outcome == "ok" or (summary.key_outcome == NO_LINKS and has_text):
        return "none"
    return "failed"


class Searches:
    """All searches that are open, and what the signals of their crawl say about them."""

    def __init__(self, store: Store, crawler: Any, reports: Path) -> None:
        self.store = store
        self.open: dict[str, OpenSearch] = {}  # by the ids of their runs, the oldest first
        self._begun: dict[str, OpenSearch] = {}  # by the ids that they have in the crawl
        self._crawler, self._reports = crawler, reports
        self._lines: asyncio.Queue[KeyLine | None] = asyncio.Queue()
        names = "search_opened search_started link_settled search_settled line_answered"
        signals.follow(self, crawler, signals, *names.split())

    def submit(self, wanted: Sequence[dict[str, Any]]) -> list[Run]:
        """Begin searches. Raises RefusedError, and then none is begun."""
        if len(self.open) + len(wanted) > MOST:
            why = f"{len(self.open)} searches are open, the limit is {MOST}"
            raise RefusedError(413, why)
        runs = [
            Run(token_hex(8), without_credentials(w["url"]), w["n"], w["strategy"], time.time())
            for w in wanted
        ]
        self.store.add(runs)
        for run, each in zip(runs, wanted, strict=True):
            self.open[run.id] = OpenSearch(run)
            options = {"n": run.n, "strategy": run.strategy}
            self._lines.put_nowait(KeyLine(run.number, each["url"], options, {"run": run.id}))
        return runs

    async def keys(self) -> AsyncIterator[KeyLine]:
        """The key pages to search from, as they come."""
        admission = self._crawler.spider.admission
        admission.anew = True  # the same search again is made again
        admission.is_wanted = lambda key: key.line.input["run"] in self.open
        while line := await self._lines.get():
            yield line

    def cancel(self, runs: Sequence[str]) -> int:
        """Cancel open searches: what was found so far is their answer. Returns their number."""
        found = [self.open[run] for run in runs if run in self.open]
        # Those that wait first, so that none of them begins.
        waiting = [search for search in found if not search.search_id]
        self.stop(waiting, "cancelled before it began")
        for search in found:
            if search.search_id:
                self._crawler.spider.tracker.cancel(search.search_id)
        return len(found)

    def end(self) -> None:
        """End what has not begun, and ask for no more key pages: the crawl is about to end."""
        self.stop([search for search in self.open.values() if not search.search_id], LOST)
        self._lines.put_nowait(None)

    def stop(self, searches: Sequence[OpenSearch], note: str) -> None:
        """End searches without an answer."""
        for search in searches:
            search.run.state, search.run.note, search.run.ended = "stopped", note, time.time()
        self._close(searches)

    def _close(
        self,
        searches: Sequence[OpenSearch],
        answer: dict[str, Any] | None = None,
        report: bytes = b"",
    ) -> None:
        try:
            self.store.save([search.run for search in searches], answer, report)
        except RefusedError as error:
            logger.error("Answers are lost: %s", error)  # noqa: TRY400 - the message is complete
            for search in searches:
                search.run.note = f"its answer is lost: {error}"
                search.run.has_answer = search.run.has_report = False
        for search in searches:
            del self.open[search.run.id]
            search.add("ended", search=vars(search.run))

    # Signals of the crawl.

    def search_opened(self, session: SearchSession) -> None:
        key = self._crawler.spider.searches[session.search_id].key
        search = self._begun[session.search_id] = self.open[key.line.input["run"]]
        search.search_id = session.search_id
        search.run.state, search.run.started = "searching", time.time()
        search.add("opened")

    def search_started(self, session: SearchSession, links: int) -> None:
        search, title = self._begun[session.search_id], ""
        if session.search:
            title = _text(session.search.key_page.title)
        run = search.run
        run.key_url, run.title, run.links = storable(session.key_url), title, links
        search.add("started", url=run.key_url, title=title, links=links)

    def link_settled(self, session: SearchSession, search: SubdigraphSearch, visit: Visit) -> None:
        """Add the event of a link; *members* are the ranks of the best CS so far."""
        link, page = visit.link, visit.page
        row = {
            "rank": visit.rank,
            "url": storable(visit.url),
            "outcome": visit.outcome,
            "reason": storable(visit.reason),
            "words": reason_words(storable(visit.reason)) if visit.reason else "",
            "title": _text(page.title) if page else "",
            "anchor_text": _text(link.anchor_text) if isinstance(link, Link) else "",
            "similarity": similarity(search.key_page, page) if page else None,
            "members": [page.rank for page in search.found],
            "loads": search.loads,
        }
        found = self._begun[session.search_id]
        found.pages[visit.rank] = _member(row)
        found.run.tried, found.run.loads = max(found.run.tried, visit.rank), search.loads
        found.run.members = [found.pages[page.rank] for page in search.found]
        found.add("link", **row)

    def search_settled(self, session: SearchSession) -> None:
        """The items are out: an answer that has not come by now is lost."""
        search = self._begun.pop(session.search_id)
        if search.run.id in self.open:
            self.stop([search], "its results are lost: the log has the error")

    def line_answered(self, answer: SearchAnswer) -> None:
        """Keep an answer, with the report that the crawl wrote."""
        summary, template = answer.summary, answer.template
        run_id = (summary.input or {}).get("run", "")
        if run_id not in self.open:
            return
        search = self.open[run_id]
        self._describe(search.run, answer)
        page = b""
        with suppress(OSError):  # the log has the error
            path = self._reports / f"{summary.search_id}.html"
            page = path.read_bytes()
            path.unlink()
        search.run.has_answer, search.run.has_report = True, bool(page)
        kept = {
            "summary": asdict(summary) | {"input": None, "line": None},  # they are ours
            "candidates": [asdict(candidate) for candidate in answer.candidates],
            "text": asdict(template) | {"key_html": ""} if template else None,
        }
        self._close([search], kept, page)

    def _describe(self, run: Run, answer: SearchAnswer) -> None:
        """Put what the list shows of an answer into its run."""
        summary, text = answer.summary, answer.template
        words = answer_words(summary)
        run.ended = time.time()
        run.state = outcome(summary, has_text=text is not None)
        run.key_url, run.title = summary.key_url, summary.key_title
        run.links, run.tried, run.loads = summary.links, len(summary.explored), summary.loads
        pages: list[Any] = [asdict(candidate) for candidate in answer.candidates]
        if summary.method == KINDS:
            pages = [row for row in summary.explored if row["outcome"] == "page"]
        run.members = [*map(_member, pages)]
        run.length = len(text.main_text) if text else 0
        run.headline = words.headline
        if run.state == "none" and summary.key_outcome != "ok":  # a page without links has a text
            run.headline = f"No other page was found: {reason_words(summary.key_outcome)}"
        fault = f"there is no text: {answer.fault}" if answer.fault else ""
        run.note = "; ".join(filter(None, (words.why, *words.know, fault)))
        run.advice = " ".join(words.attempts) if run.state in ("none", "failed") else ""


def _text(text: str) -> str:
    return storable(text[:LONGEST])

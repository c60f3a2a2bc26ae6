"""The searches that are open, and the child process that makes them."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import time
from asyncio.subprocess import PIPE
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from tplspider.arguments import (
    check_options,
    key_address,
    masked,
    read_credentials,
    without_credentials,
)
from tplspider.items import CandidateSearch
from tplspider.plugins.ui.store import LOST, MOST, Run, StoreError
from tplspider.report.words import answer_words, reason_words
from tplspider.search.cliques import CANCELLED
from tplspider.search.session import SearchOptions
from tplspider.web.page import NO_LINKS, NOT_LOADED

if TYPE_CHECKING:
    from asyncio.subprocess import Process
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    from tplspider.plugins.ui.store import Store

logger = logging.getLogger(__name__)

MOST_EVENTS = 5000  # of a search that are kept while it is open
_DEFAULTS = SearchOptions(strategy="guided")  # it needs fewer loads
_LONGEST = 8000  # characters of an address: no server takes more
_LONGEST_LINE = 256 << 20  # bytes: an answer may have a whole page in it
_SILENCE = 60.0  # seconds without a sign of life before the child is killed
_GRACE = 10.0  # seconds that the child has at its end
_SHORT_LIFE, _LONGEST_PAUSE = 10.0, 60.0
_DIED = "the process that searched ended"
_UNBEGUN = "cancelled before it began"


class TooManyError(ValueError):
    """More searches are asked for than the list can hold."""

    status = 413  # of HTTP


def read_lines(
    addresses: str, options: Mapping[str, object]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The searches that the lines of a text ask for, and the lines that cannot be searched.

    Empty lines and those that start with ``#`` do not count. Raises ValueError if an option is
    wrong, TooManyError if there are too many lines.
    """
    chosen = check_options(options, _DEFAULTS)
    wanted: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    for number, line in enumerate(addresses.splitlines(), 1):
        given = line.strip()
        if not given or given.startswith("#"):
            continue
        if len(wanted) + len(refused) == MOST:
            raise TooManyError(f"more than {MOST} addresses at once")
        try:
            if len(given) > _LONGEST:
                raise ValueError(f"an address of {len(given)} characters")  # noqa: TRY301 - as others
            read_credentials(given, key_address(given))
        except ValueError as error:
            why = str(error).removeprefix("url: ")[:600]
            refused.append({"line": number, "url": masked(given)[:300], "reason": why})
        else:
            wanted.append({"url": given, "n": chosen.n, "strategy": chosen.strategy})
    return wanted, refused


class OpenSearch:
    """A search that is not over, what happened in it, and what the child is told of it."""

    def __init__(self, run: Run, order: dict[str, Any]) -> None:
        self.run = run
        self.order = order
        self.events: list[dict[str, Any]] = []
        self.changed = asyncio.Event()

    def tell(self, event: dict[str, Any]) -> None:
        """Keep an event for those who watch."""
        if len(self.events) < MOST_EVENTS or event["event"] == "ended":
            self.events.append(event)
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    async def follow(self) -> AsyncIterator[list[dict[str, Any]]]:
        """What happened, and what does, until the search is over."""
        place = 0
        while not place or self.events[place - 1]["event"] != "ended":
            if place == len(self.events):
                await self.changed.wait()
            told, place = self.events[place:], len(self.events)
            yield told

    def take(self, event: dict[str, Any]) -> None:
        """Keep what the list shows of an event."""
        run = self.run
        if event["event"] == "opened":
            run.state, run.started = "searching", time.time()
        elif event["event"] == "started":
            run.key_url, run.title, run.links = event["url"], event["title"], event["links"]
        elif event["event"] == "link":
            run.tried, run.loads = max(run.tried, event["rank"]), event["loads"]
            if event["members"] != [member["rank"] for member in run.members]:
                rows = {row["rank"]: row for row in self.events if row["event"] == "link"}
                rows[event["rank"]] = event
                run.members = [_member(rows[rank]) for rank in event["members"] if rank in rows]
        self.tell(event)


def ended(run: Run) -> OpenSearch:
    """A search that is over, for those who watch."""
    search = OpenSearch(run, {})
    search.tell({"event": "ended", "search": vars(run)})
    return search


def _member(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"rank": row["rank"], "url": row["url"], "title": row["title"] or row["anchor_text"]}


def outcome(summary: CandidateSearch, *, has_text: bool) -> str:
    """The one word for what a search came to."""
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
    """All searches that are open. A child process makes them; if it dies, another is started."""

    def __init__(
        self, store: Store, command: Sequence[str], env: dict[str, str], reports: Path
    ) -> None:
        self.store = store
        self.open: dict[str, OpenSearch] = {}  # the oldest first
        self._command, self._env, self._reports = [*command, str(reports)], env, reports
        self._process: Process | None = None
        self._is_ending = False

    def submit(self, wanted: Sequence[dict[str, Any]]) -> list[Run]:
        """Begin searches. Raises TooManyError or StoreError, and none is begun."""
        if len(self.open) + len(wanted) > MOST:
            raise TooManyError(f"{len(self.open)} searches are open, and {MOST} is the most")
        runs = [
            Run(token_hex(8), without_credentials(w["url"]), w["n"], w["strategy"], time.time())
            for w in wanted
        ]
        self.store.add(runs)
        for run, each in zip(runs, wanted, strict=True):
            self.open[run.id] = OpenSearch(run, {"run": run.id, **each})
            self._send(self.open[run.id].order)
        return runs

    def cancel(self, runs: Sequence[str]) -> int:
        """Cancel open searches: what was found so far is their answer. Gives their number."""
        # Those that wait first, so that none of them begins.
        found = [self.open[run] for run in runs if run in self.open]
        for search in reversed(found):
            self._send({"cancel": search.run.id})
        self._stop([search for search in found if search.run.state == "waiting"], _UNBEGUN)
        return len(found)

    def _stop(self, searches: Sequence[OpenSearch], note: str) -> None:
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
        except StoreError as error:
            logger.error("What searches gave is lost: %s", error)  # noqa: TRY400 - it says it all
            for search in searches:
                search.run.note = f"its answer is lost: {error}"
                search.run.has_answer = search.run.has_report = False
        for search in searches:
            del self.open[search.run.id]
            search.tell({"event": "ended", "search": vars(search.run)})

    # What the child tells.

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
            search = self.open.get(event.pop("run"))
            kind = event["event"]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            # The settings of a project may print something.
            logger.warning("The process that searches printed: %s", ascii(line[:200])[2:-1])
            return
        if search is None:  # a sign of life; or the search was cancelled before it began
            return
        if kind == "answer":
            self._answered(search, event)
        elif kind == "settled":
            self._stop([search], "its results are lost: the log has the error")
        else:
            search.take(event)

    def _answered(self, search: OpenSearch, event: dict[str, Any]) -> None:
        run, text = search.run, event["text"]
        summary = CandidateSearch(**event["summary"])
        words = answer_words(summary)
        run.ended = time.time()
        run.state = outcome(summary, has_text=text is not None)
        run.key_url, run.title = summary.key_url, summary.key_title
        run.links, run.tried, run.loads = summary.links, len(summary.explored), summary.loads
        run.members = [_member(row) for row in event["candidates"]]
        run.length = len(text["main_text"]) if text else 0
        run.headline = words.headline
        if run.state == "none" and summary.key_outcome != "ok":  # a page without links has a text
            run.headline = f"No other page was found: {reason_words(summary.key_outcome)}"
        fault = f"there is no text: {event['fault']}" if event["fault"] else ""
        run.note = "; ".join(filter(None, (words.why, *words.know, fault)))
        run.advice = " ".join(words.attempts) if run.state in ("none", "failed") else ""
        run.has_answer = True
        page = b""
        with suppress(OSError):
            path = self._reports / f"{run.id}.html"
            page = path.read_bytes()
            path.unlink()
        run.has_report = bool(page)
        answer = {name: event[name] for name in ("summary", "candidates", "text")}
        self._close([search], answer, page)

    # The child itself.

    def _send(self, message: dict[str, Any]) -> None:
        """Tell the child something. If there is none now, the next one is told what it needs."""
        process = self._process
        if process and process.stdin and not process.stdin.is_closing():
            process.stdin.write(json.dumps(message).encode() + b"\n")

    async def work(self) -> None:
        """Keep a child running, until :meth:`end`. If it never lives long, pauses get longer."""
        pause = 0.0
        while not self._is_ending:
            begun = time.monotonic()
            status = await self._live()
            note = LOST if self._is_ending else _DIED
            begun_by_it = [each for each in self.open.values() if each.run.state != "waiting"]
            self._stop(begun_by_it, note)
            if self._is_ending:
                break
            lived = time.monotonic() - begun
            pause = 0.0 if lived > _SHORT_LIFE else min(max(1.0, 2 * pause), _LONGEST_PAUSE)
            logger.warning("%s (status %s); it is started again in %g s", _DIED, status, pause)
            await asyncio.sleep(pause)
        self._stop([*self.open.values()], LOST)

    async def _live(self) -> int:
        """From the start of a child to its end; gives its exit status."""
        try:
            # Ctrl-C is for the server, which ends the child in order.
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=PIPE,
                stdout=PIPE,
                limit=_LONGEST_LINE,
                env=self._env,
                start_new_session=True,
            )
        except OSError as error:
            logger.error("The process that searches cannot be started: %s", error)  # noqa: TRY400
            return 1
        self._process = process
        for search in self.open.values():
            self._send(search.order)
        assert process.stdout
        try:
            # It gives signs of life; a page must not take the other searches with it.
            while line := await asyncio.wait_for(process.stdout.readline(), _SILENCE):
                self._take(line)
        except (ValueError, OSError) as error:  # a line without end; TimeoutError
            logger.error("The process that searches is killed: %s", str(error) or "it hangs")  # noqa: TRY400
            _send_signal(process, signal.SIGKILL)
        finally:
            self._process = None
        return await process.wait()

    async def end(self, working: asyncio.Task[None]) -> int:
        """Let the child hand in what it has, and end; gives how many searches ended early."""
        self._is_ending = True
        early = len(self.open)
        process = self._process
        if process is None:
            working.cancel()
        elif process.stdin:
            process.stdin.close()
        latest = time.monotonic() + _GRACE
        while self.open and not working.done() and time.monotonic() < latest:
            await asyncio.wait({working}, timeout=0.1)
        # Scrapy waits for requests in flight, but not after a second signal.
        for each in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            await asyncio.wait({working}, timeout=1)
            if process and not working.done():
                _send_signal(process, each)
        working.cancel()
        with suppress(asyncio.CancelledError):
            await working
        self._stop([*self.open.values()], LOST)
        return early


def _send_signal(process: Process, number: int) -> None:
    with suppress(ProcessLookupError):
        process.send_signal(number)

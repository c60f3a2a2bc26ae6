"""The list of searches: what is asked for, what the worker tells of it, and what is kept."""

from __future__ import annotations

import asyncio
import logging
import time
from itertools import islice
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from tplspider.plugins.ui.run import OPEN, Run, answer_of, ended_event, events_of
from tplspider.plugins.ui.store import StoreError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping

    from tplspider.plugins.ui.run import State
    from tplspider.plugins.ui.store import RunStore
    from tplspider.plugins.ui.wanted import Wanted

logger = logging.getLogger(__name__)

MOST = 20_000  # searches in the list
_UNKEPT = 50  # answers that are held in memory where the disk is full
_DIED = "the process that searched it has ended"
_LOST = "its answer is lost: there was no room to keep it"
_STOPPED = "the server was ended before the search was over"


class TooManyError(Exception):
    """More is asked for than the list can hold: one line for the user."""


class Runs:
    """All searches, by their ids. *send* gives a message to the worker, where there is one."""

    def __init__(self, store: RunStore, *, most: int = MOST) -> None:
        self.store = store
        self.send: Callable[[dict[str, Any]], object] = lambda _: None
        self._most = most
        self._runs: dict[str, Run] = {run.id: run for run in store.runs()}  # the oldest first
        self._wanted: dict[str, dict[str, Any]] = {}  # what the worker has not opened yet
        self._open: dict[str, Run] = {}
        # What ended, with its answer if it has one, and could not be written: it is tried again.
        self._unkept: dict[Run, dict[str, Any] | None] = {}
        self._is_full = False  # so far as is known, the disk
        # What was open when the server was killed.
        self._end([run for run in self._runs.values() if run.is_open], "ended", _STOPPED)

    def get(self, run_id: str) -> Run | None:
        """One of them."""
        return self._runs.get(run_id)

    def listed(self, before: int = 0, most: int = 100, state: str = "") -> list[Run]:
        """The newest, or those older than the one with the number *before*; of one *state*.

        All that run or wait are ``open``, and the others ``closed``.
        """
        among = self._open if state in (*OPEN, "open") else self._runs
        found = (
            run
            for run in reversed(among.values())
            if (not before or run.number < before)
            and state in ("", run.state, "open" if run.is_open else "closed")
        )
        return list(islice(found, most))

    def counts(self) -> dict[str, int]:
        """How many there are of each state that goes on, and of all."""
        running = sum(run.state == "running" for run in self._open.values())
        waiting = len(self._open) - running
        return {"total": len(self._runs), "running": running, "waiting": waiting}

    def unfinished(self) -> list[Run]:
        """Those that run or wait."""
        return list(self._open.values())

    def submit(self, wanted: list[Wanted]) -> list[Run]:
        """Search from new key pages. Raises TooManyError and StoreError, and nothing is begun."""
        if len(self._open) + len(wanted) > self._most:
            raise TooManyError(
                f"{len(self._open)} searches are open and {len(wanted)} more are asked for:"
                f" {self._most} is the most"
            )
        now = time.time()
        runs = [Run(token_hex(8), one.url, one.n, one.strategy, now) for one in wanted]
        self.store.add(runs)
        self._keep_late()
        for run, one in zip(runs, wanted, strict=True):
            self._runs[run.id] = self._open[run.id] = run
            order = {"run": run.id, "url": one.address, "n": one.n, "strategy": one.strategy}
            self._wanted[run.id] = order
            self.send(order)
        self._forget_oldest()
        return runs

    def cancel(self, run: Run) -> None:
        """End a search with what it has found so far; one that waits is over at once."""
        self._cancel([run])

    def cancel_all(self) -> int:
        """End all that goes on; how many those are."""
        runs = list(self._open.values())
        self._cancel(reversed(runs))  # those that wait first, so that none of them begins
        return len(runs)

    def worker_started(self) -> None:
        """A new worker has come: it gets what no other has begun."""
        for order in self._wanted.values():
            self.send(order)

    def worker_ended(self, why: str = _DIED) -> None:
        """The worker has died, and with it the searches in it."""
        self._end([run for run in self._open.values() if run.state == "running"], "ended", why)

    def close(self) -> None:
        """The server ends: nothing that is open is ever going on."""
        self._end(list(self._open.values()), "ended", _STOPPED)

    def take(self, event: dict[str, Any]) -> None:
        """The worker tells something of a search."""
        run = self._open.get(event.pop("run", ""))
        if run is None:  # it was cancelled before it began
            return
        match event["event"]:
            case "opened":
                self._wanted.pop(run.id, None)
                run.state, run.started = "running", time.time()
                run.tell(event)
            case "answer":
                self._take_answer(run, answer_of(event))
            case "settled":
                self._end([run], "ended", "its results are lost: the log has the error")
            case _:
                run.take(event)

    def answer(self, run: Run) -> dict[str, Any] | None:
        """What a search gave. Raises StoreError; it may be called in a thread."""
        if not run.has_answer:
            return None
        return self._unkept.get(run) or self.store.answer(run.id)

    def answers(self) -> Iterator[dict[str, Any]]:
        """What all searches gave; in whatever thread."""
        unkept = [answer for answer in list(self._unkept.values()) if answer]
        yield from self.store.answers()
        yield from unkept

    async def follow(self, run: Run) -> AsyncIterator[list[dict[str, Any]]]:
        """What has happened in a search, and what does, until it is over."""
        events, place = run.events, 0
        if not run.is_open and not events:
            yield events_of(run, await asyncio.to_thread(self.answer, run))
            return
        while True:
            is_open, changed = run.is_open, run.changed
            if place < len(events):
                told, place = events[place:], len(events)
                yield told
            elif not is_open:
                return
            else:
                await changed.wait()

    def _take_answer(self, run: Run, answer: dict[str, Any]) -> None:
        run.take_answer(answer, time.time())
        self._keep({run: answer})
        self._close(run)

    def _cancel(self, runs: Iterable[Run]) -> None:
        waiting = []
        for run in runs:
            if run.id in self._open:
                self.send({"cancel": run.id})
            if run.state == "waiting":
                waiting.append(run)
        self._end(waiting, "cancelled", "cancelled before it began")

    def _end(self, runs: list[Run], state: State, note: str) -> None:
        for run in runs:
            run.end(state, note, time.time())
        self._keep(dict.fromkeys(runs))
        for run in runs:
            self._close(run)

    def _close(self, run: Run) -> None:
        self._open.pop(run.id, None)
        self._wanted.pop(run.id, None)
        run.tell(ended_event(run))
        if run.has_answer:
            run.events = []  # the answer tells it again; whoever watches has the list

    def _keep(self, answers: Mapping[Run, dict[str, Any] | None]) -> None:
        """Write what has ended to disk; a fault is one line, however many follow."""
        try:
            self.store.save(answers)
        except StoreError as error:
            for run in answers:
                run.fault = f"it cannot be kept: {error}"
            self._unkept |= answers
            self._bound_unkept()
            if not self._is_full:
                logger.error("%s: what ends now is gone with the server", error)  # noqa: TRY400 - it says it all
            self._is_full = True
        else:
            self._keep_late()

    def _keep_late(self) -> None:
        """There is room again: write what could not be kept before."""
        self._is_full = False
        for run, answer in list(self._unkept.items()):
            fault, run.fault = run.fault, _LOST if run.fault == _LOST else ""
            try:
                self.store.save({run: answer})
            except StoreError:
                run.fault = fault
                return
            del self._unkept[run]

    def _bound_unkept(self) -> None:
        """Let go of the oldest answers in memory."""
        for run in [run for run, answer in self._unkept.items() if answer][:-_UNKEPT]:
            self._unkept[run] = None
            run.has_answer = False
            run.fault = _LOST

    def _forget_oldest(self) -> None:
        surplus = len(self._runs) - self._most
        if surplus > 0:
            over = (run for run in self._runs.values() if not run.is_open)
            dropped = [run for run, _ in zip(over, range(surplus), strict=False)]
            self._drop(dropped)

    def _drop(self, runs: Iterable[Run]) -> None:
        try:
            self.store.drop(runs)
        except StoreError as error:
            logger.warning("%s", error)
            return
        for run in runs:
            del self._runs[run.id]

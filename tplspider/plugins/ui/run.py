"""One search that somebody has asked for, as the list of searches shows it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args, get_type_hints

from tplspider.items import CandidateSearch
from tplspider.report.model import check_type
from tplspider.report.words import answer_words
from tplspider.search.cliques import (
    CANCELLED,
    COMPLETE,
    KEY_PAGE_UNUSABLE,
    LINKS_EXHAUSTED,
    MAX_LOADS,
    MAX_SECONDS,
    POOL,
)

if TYPE_CHECKING:
    from typing import Self

State = Literal["waiting", "running", "over", "cancelled", "ended", "failed"]
OPEN = ("waiting", "running")

MOST_EVENTS = 5000  # of one search that are kept to be told again

_ENDS = (COMPLETE, LINKS_EXHAUSTED, MAX_LOADS, MAX_SECONDS, POOL)
_OWN = ("number", "events", "changed")  # not for others


class Member(TypedDict):
    """A page of the answer."""

    rank: int
    url: str
    title: str


@dataclass(eq=False)
class Run:
    """A search, from when it is asked for. The same search again is another run.

    It waits, runs, and is then *over* with an answer, *cancelled* with what there was, *failed* for
    the key page cannot be used, or *ended* by something else: its process died, or the server.
    """

    id: str
    url: str
    n: int
    strategy: str
    created: float
    state: State = "waiting"
    started: float | None = None
    ended: float | None = None
    key_url: str = ""  # where redirects ended
    title: str = ""  # of the key page
    links: int = 0  # on the key page
    tried: int = 0  # of them
    loads: int = 0
    members: list[Member] = field(default_factory=list)
    headline: str = ""  # the answer in one line
    note: str = ""  # what else there is to know: why it ended, a fault
    advice: str = ""  # what to try
    fault: str = ""  # why it cannot be kept
    has_answer: bool = False
    number: int = 0  # in the list: the higher, the newer
    events: list[dict[str, Any]] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def is_open(self) -> bool:
        """Whether it is not over yet."""
        return self.state in OPEN

    def record(self) -> dict[str, Any]:
        """All that is kept of it in the list, and told."""
        return {name: value for name, value in self._values().items() if name not in _OWN}

    @classmethod
    def of_record(cls, record: Mapping[str, Any], number: int) -> Self:
        """The run that was kept; what is not known any more is left out.

        Raises ValueError or TypeError if it is not one.
        """
        if not isinstance(record, Mapping):
            raise TypeError("not a record")
        kinds = _kept_types()
        values = {name: value for name, value in record.items() if name in kinds}
        for name, value in values.items():
            check_type(value, kinds[name], name)
        run = cls(**values, number=number)
        if run.state not in get_args(State):
            raise ValueError("state is not one of ours")
        return run

    def tell(self, event: dict[str, Any]) -> None:
        """Something has happened: whoever watches is told."""
        if len(self.events) < MOST_EVENTS or event["event"] == "ended":
            self.events.append(event)
        changed, self.changed = self.changed, asyncio.Event()
        changed.set()

    def take(self, event: dict[str, Any]) -> None:
        """Keep what the list shows of an event."""
        match event["event"]:
            case "started":
                self.key_url, self.title = event["url"], event["title"]
                self.links = event["links"]
            case "link":
                self.tried, self.loads = max(self.tried, event["rank"]), event["loads"]
                ranks = event["members"]
                if ranks != [member["rank"] for member in self.members]:
                    rows = {row["rank"]: row for row in self.events if row["event"] == "link"}
                    rows[event["rank"]] = event
                    self.members = [_member(rows[rank]) for rank in ranks if rank in rows]
        self.tell(event)

    def take_answer(self, answer: Mapping[str, Any], now: float) -> None:
        """The search is over, and this is what it gave."""
        summary = CandidateSearch(**answer["summary"])
        self.state = state_of(summary)
        self.ended = now
        self.key_url, self.title = summary.key_url, summary.key_title
        self.links, self.tried, self.loads = summary.links, len(summary.explored), summary.loads
        self.members = [_member(row) for row in answer["candidates"]]
        words = answer_words(summary)
        self.headline = words.headline
        self.note = "; ".join(filter(None, (words.why, *words.know)))
        # Budgets are not for the form to change, and whoever ended a search knows what to do.
        if self.state in ("over", "failed") and summary.reason != MAX_LOADS:
            self.advice = " ".join(words.attempts)
        self.has_answer = True

    def end(self, state: State, note: str, now: float) -> None:
        """The search is over, and gave nothing but what is known already."""
        self.state, self.note, self.ended = state, note, now

    def _values(self) -> dict[str, Any]:
        names = [each.name for each in fields(self) if each.name not in _OWN]
        return {name: getattr(self, name) for name in names}


@cache
def _kept_types() -> dict[str, Any]:
    """The types of the fields that are kept."""
    found = {name: kind for name, kind in get_type_hints(Run).items() if name not in _OWN}
    return found | {"state": str}


def state_of(summary: CandidateSearch) -> State:
    """What a search counts as that has come to this."""
    if summary.reason == CANCELLED:
        return "cancelled"
    if summary.reason == KEY_PAGE_UNUSABLE:
        return "failed"
    return "over" if summary.reason in _ENDS else "ended"


def events_of(run: Run, answer: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """What has happened in a search that is over, told again by its answer."""
    out: list[dict[str, Any]] = []
    if answer and run.links:
        out.append(
            {"event": "started", "url": run.key_url, "title": run.title, "links": run.links}
            | {"unparsable": 0}
        )
    ranks = [member["rank"] for member in run.members]
    for row in answer["summary"]["explored"] if answer else ():
        so_far = [rank for rank in ranks if rank <= row["rank"]]
        out.append({"event": "link", **row, "members": so_far})
    return [*out, ended_event(run)]


def ended_event(run: Run) -> dict[str, Any]:
    """The last event of every search: what is known of it in the end."""
    return {"event": "ended", "search": run.record()}


def _member(row: Mapping[str, Any]) -> Member:
    return {"rank": row["rank"], "url": row["url"], "title": row["title"] or row["anchor_text"]}


def answer_of(event: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of an answer."""
    return {name: event[name] for name in ("summary", "candidates", "template")}

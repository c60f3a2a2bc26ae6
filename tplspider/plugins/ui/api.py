"""What scripts and extensions ask for: searches, begun, watched and ended, as JSON."""

from __future__ import annotations

import asyncio
import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, get_args

from aiohttp import web

from tplspider.plugins.ui.guard import RefusedError, broken_off
from tplspider.plugins.ui.run import State
from tplspider.plugins.ui.wanted import TooManyLinesError
from tplspider.report.words import reason_words

if TYPE_CHECKING:
    from tplspider.plugins.ui.access import Access
    from tplspider.plugins.ui.run import Run
    from tplspider.plugins.ui.runs import Runs
    from tplspider.plugins.ui.wanted import Check

ID = "{id:[0-9a-f]{16}}"

_MOST_LISTED, _LISTED = 1000, 100
_LISTED_STATES = ("", *get_args(State), "open", "closed")
_MOST_STREAMS = 100
_EXPECTED = 'expected {"addresses": "one or many, a line each", "n": 3, "strategy": "guided"}'


class Api:
    """The handlers of /api/, which know the searches and who may come in."""

    def __init__(self, runs: Runs, access: Access, check: Check, address: str) -> None:
        self._runs = runs
        self._access = access
        self._check = check
        self._address = address
        self._streams = 0

    def routes(self) -> list[web.RouteDef]:
        """Where the handlers are."""
        return [
            web.get("/api/searches", self.searches),
            web.post("/api/searches", self.begin),
            web.post("/api/searches/cancel", self.cancel_all),
            web.get(f"/api/searches/{ID}", self.search),
            web.get(f"/api/searches/{ID}/events", self.events, allow_head=False),
            web.post(f"/api/searches/{ID}/cancel", self.cancel),
            web.post("/api/codes", self.code),
        ]

    async def searches(self, request: web.Request) -> web.Response:
        """The last searches, or with ``before=NUMBER`` older ones; of one ``state``, perhaps."""
        before = _whole(request, "before", 0)
        most = min(_whole(request, "limit", _LISTED), _MOST_LISTED)
        state = request.query.get("state", "")
        if state not in _LISTED_STATES:
            raise RefusedError(400, f"state: expected one of {', '.join(_LISTED_STATES[1:])}")
        found = [_entry(run) for run in self._runs.listed(before, most, state)]
        return web.json_response({"searches": found, **self._runs.counts()})

    async def begin(self, request: web.Request) -> web.Response:
        """Begin searches."""
        given = await _object(request, _EXPECTED)
        addresses = given.pop("addresses", None)
        if not isinstance(addresses, str) or given.keys() - {"n", "strategy"}:
            raise RefusedError(400, _EXPECTED)
        options = {name: value for name, value in given.items() if value is not None}
        # In a thread: thousands of addresses take a while.
        try:
            checked = await asyncio.to_thread(self._check, addresses, options)
        except TooManyLinesError as error:
            raise RefusedError(413, str(error)) from None
        if not checked.wanted and not checked.refused:
            raise RefusedError(400, "no address is given")
        runs = self._runs.submit(checked.wanted)
        refused = [asdict(one) for one in checked.refused]
        told = [{"id": run.id, "url": run.url, "state": run.state} for run in runs]
        answer: dict[str, Any] = {"searches": told, "refused": refused}
        answer["refused_count"] = len(checked.refused)
        if not runs:
            answer["error"] = f"no line can be searched: {checked.refused[0].reason}"
        return web.json_response(answer, status=201 if runs else 400)

    async def search(self, request: web.Request) -> web.Response:
        """All that is known of one search."""
        run = self._found(request)
        answer = await asyncio.to_thread(self._runs.answer, run)
        return web.json_response(
            {
                **_entry(run),
                "summary": answer and answer["summary"],
                "candidates": answer["candidates"] if answer else [],
            }
        )

    async def cancel(self, request: web.Request) -> web.Response:
        """End one search, with what it has."""
        run = self._found(request)
        self._runs.cancel(run)
        return web.json_response(_entry(run))

    async def cancel_all(self, request: web.Request) -> web.Response:  # noqa: ARG002 - as aiohttp calls it
        """End all that goes on."""
        return web.json_response({"cancelled": self._runs.cancel_all()})

    async def code(self, request: web.Request) -> web.Response:
        """An address that leads in, once, within a minute."""
        given = await _object(request, 'expected {"to": "/..."}')
        code = self._access.make_code(str(given.get("to", "/")))
        return web.json_response({"address": f"{self._address}/enter?code={code}"})

    async def events(self, request: web.Request) -> web.StreamResponse:
        """What happens in a search, a line each, until it is over."""
        run = self._found(request)
        if self._streams >= _MOST_STREAMS:
            raise RefusedError(503, "too many pages watch searches: close some")
        self._streams += 1
        try:
            out = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
            await out.prepare(request)
            with broken_off(request):
                async for events in self._runs.follow(run):
                    lines = "".join(f"{json.dumps(_told(event))}\n" for event in events)
                    await out.write(lines.encode())
                await out.write_eof()
        finally:
            self._streams -= 1
        return out

    def _found(self, request: web.Request) -> Run:
        run = self._runs.get(request.match_info["id"])
        if run is None:
            raise RefusedError(404, "there is no such search in the list")
        return run


def _told(event: dict[str, Any]) -> dict[str, Any]:
    """An event for people: a reason is told in words as well."""
    reason = event.get("reason")
    return {**event, "words": reason_words(reason)} if reason else event


def _entry(run: Run) -> dict[str, Any]:
    report = f"/searches/{run.id}/report" if run.has_answer else None
    return {**run.record(), "number": run.number, "report": report}


async def _object(request: web.Request, expected: str) -> dict[str, Any]:
    """The object of JSON that was sent."""
    if request.content_type != "application/json":
        raise RefusedError(415, "expected JSON (Content-Type: application/json)")
    try:
        found = json.loads(await request.read())
    except (ValueError, RecursionError):
        raise RefusedError(400, expected) from None
    if not isinstance(found, dict):
        raise RefusedError(400, expected)
    return found


def _whole(request: web.Request, name: str, default: int) -> int:
    text = request.query.get(name, str(default))
    if not text.isascii() or not text.isdigit() or len(text) > 12:
        raise RefusedError(400, f"{name}: expected a whole number")
    return int(text)

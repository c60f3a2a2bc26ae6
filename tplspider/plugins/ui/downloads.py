"""Reports to look at, and feeds to take away: made of the answers that are kept."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from aiohttp import web

from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.plugins.ui.api import ID
from tplspider.plugins.ui.guard import RefusedError, broken_off
from tplspider.report.model import make_report
from tplspider.report.rendering import render_report
from tplspider.web.text import safe_cell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tplspider.plugins.ui.runs import Runs

    Answer = dict[str, Any]
    Row = dict[str, Any]

_FEED = "{kind:candidates|summary|template}.{format:jl|json|csv}"
_KINDS: dict[str, type] = {
    "candidates": TemplateCandidate,
    "summary": CandidateSearch,
    "template": PageTemplate,
}
_TYPES = {"jl": "application/jsonlines", "json": "application/json", "csv": "text/csv"}
_PIECE = 1 << 16
# A report may run its own script and nothing else, as a page of nobody: it cannot read of ours.
SANDBOX = "sandbox allow-scripts; frame-ancestors 'none'"


class Downloads:
    """The handlers of what is made of answers."""

    def __init__(self, runs: Runs) -> None:
        self._runs = runs

    def routes(self) -> list[web.RouteDef]:
        """Where the handlers are."""
        return [
            web.get(f"/searches/{ID}/report", self.report),
            web.get(f"/searches/{ID}/report.html", self.report),
            web.get(f"/searches/{ID}/{_FEED}", self.feed),
            web.get(f"/searches/{_FEED}", self.feeds),
        ]

    async def report(self, request: web.Request) -> web.Response:
        """The report of a search; as ``report.html`` to be saved."""
        answer = await self._answer(request)
        # In a thread: drawing hundreds of pages takes more time than an event loop has.
        text = await asyncio.to_thread(_report, answer)
        headers = {"Content-Security-Policy": SANDBOX}
        if request.path.endswith(".html"):
            headers["Content-Disposition"] = 'attachment; filename="report.html"'
        return web.Response(
            body=text.encode("utf-8", "replace"),
            content_type="text/html",
            charset="utf-8",
            headers=headers,
        )

    async def feed(self, request: web.Request) -> web.StreamResponse:
        """The candidates, or the summary, of one search."""
        answer = await self._answer(request)
        return await _send(request, [answer])

    async def feeds(self, request: web.Request) -> web.StreamResponse:
        """The same of all searches, the oldest first."""
        return await _send(request, self._runs.answers())

    async def _answer(self, request: web.Request) -> Answer:
        run = self._runs.get(request.match_info["id"])
        answer = await asyncio.to_thread(self._runs.answer, run) if run else None
        if not answer:
            raise RefusedError(404, "there is no answer of such a search")
        return answer


def _report(answer: Answer) -> str:
    return render_report(make_report(answer["summary"], answer["template"]))


async def _send(request: web.Request, answers: Iterable[Answer]) -> web.StreamResponse:
    kind, form = request.match_info["kind"], request.match_info["format"]
    out = web.StreamResponse(
        headers={
            "Content-Type": f"{_TYPES[form]}; charset=utf-8",
            "Content-Disposition": f'attachment; filename="{kind}.{form}"',
        }
    )
    write: Callable[[Iterator[Row], list[str]], Iterator[str]] = _FORMATS[form]
    names = [field.name for field in fields(_KINDS[kind])]
    pieces = _gathered(write(_rows(answers, kind), names))
    piece = await asyncio.to_thread(next, pieces, None)  # a fault is told before it begins
    await out.prepare(request)
    with broken_off(request):
        while piece is not None:
            await out.write(piece.encode("utf-8", "replace"))
            piece = await asyncio.to_thread(next, pieces, None)
        await out.write_eof()
    return out


def _rows(answers: Iterable[Answer], kind: str) -> Iterator[Row]:
    for answer in answers:
        found = answer[kind]
        yield from found if isinstance(found, list) else [found] if found else []


def _gathered(pieces: Iterator[str]) -> Iterator[str]:
    """Small pieces put together: each is worth a packet."""
    held: list[str] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _PIECE:
            yield "".join(held)
            held, size = [], 0
    yield "".join(held)


def _json_lines(rows: Iterator[Row], names: list[str]) -> Iterator[str]:  # noqa: ARG001 - as others
    return (f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)


def _json(rows: Iterator[Row], names: list[str]) -> Iterator[str]:  # noqa: ARG001 - as others
    yield "["
    for place, row in enumerate(rows):
        yield f"{',' if place else ''}\n{json.dumps(row, ensure_ascii=False)}"
    yield "\n]\n"


def _csv(rows: Iterator[Row], names: list[str]) -> Iterator[str]:
    """As in feeds of Scrapy: lists are JSON, and no cell is a formula."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(names)
    for row in rows:
        yield file.getvalue()
        file.seek(0)
        file.truncate()
        writer.writerow(_cell(row.get(name)) for name in names)
    yield file.getvalue()


def _cell(value: object) -> object:
    if isinstance(value, list | dict):
        return json.dumps(value, ensure_ascii=False)
    return safe_cell(value) if isinstance(value, str) else value


_FORMATS = {"jl": _json_lines, "json": _json, "csv": _csv}

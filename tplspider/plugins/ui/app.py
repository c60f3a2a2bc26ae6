"""What the server answers: pages, the interface for programs, downloads."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from dataclasses import fields
from functools import partial
from html import escape
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from aiohttp import web
from scrapy.exporters import JsonItemExporter, JsonLinesItemExporter

from tplspider.feeds import FeedCsvExporter
from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.plugins.ui.access import RefusedError
from tplspider.plugins.ui.searches import OpenSearch, read_lines
from tplspider.report.words import reason_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from aiohttp.typedefs import Handler

    from tplspider.plugins.ui.access import Access, Connections
    from tplspider.plugins.ui.searches import Searches
    from tplspider.plugins.ui.store import Answer, Run

logger = logging.getLogger(__name__)

_ID = "{id:[0-9a-f]{16}}"
_FEED = "{kind:candidates|summary|texts}.{format:jl|json|csv}"
_PAGES = Path(__file__).parent / "pages"
_LARGEST = 8 << 20  # bytes of a request: ten thousand addresses are less
_MOST_LISTED, _LISTED = 1000, 100
_EXPECTED = 'expected {"addresses": "one or many, a line each", "n": 3, "strategy": "kinds"}'
_KINDS: dict[str, type] = {
    "candidates": TemplateCandidate,
    "summary": CandidateSearch,
    "texts": PageTemplate,
}
_FORMATS: dict[str, tuple[Any, str]] = {
    "jl": (JsonLinesItemExporter, "application/jsonlines"),
    "json": (JsonItemExporter, "application/json"),
    "csv": (FeedCsvExporter, "text/csv"),
}
_HEADINGS = {401: "Your browser is not signed in", 403: "Refused", 404: "Nothing is here"}
_BODY = re.compile(r"<body[^>]*>")
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
        " img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
# A report may run its own script and nothing else, with an origin of its own.
SANDBOX = "sandbox allow-scripts; frame-ancestors 'none'"


def make_app(searches: Searches, access: Access, connections: Connections) -> web.Application:
    """The application that a server runs."""

    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        """Answer only those who may ask, and every fault by one line."""
        is_owner = False
        try:
            if is_owner := access.check(request):
                connections.trust(request.transport)
            response = await handler(request)
        except web.HTTPException as error:
            words = {404: "no such page", 405: "not in this way", 413: "too much at once"}
            response = _refusal(request, error.status, words.get(error.status, error.reason))
        except (ValueError, web.RequestPayloadError) as error:
            response = _refusal(request, getattr(error, "status", 400), str(error))
        except ConnectionError:
            raise
        except Exception:
            logger.exception("%s %s failed", request.method, request.path)
            response = _refusal(request, 500, "something went wrong: the terminal has the error")
        if not is_owner and not response.prepared:
            response.force_close()  # connections are kept for those who may ask
        return response

    app = web.Application(middlewares=[guard], client_max_size=_LARGEST)
    app.on_response_prepare.append(_add_headers)
    app.add_routes(App(searches, access).routes())
    return app


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    for name, value in _HEADERS.items():
        response.headers.setdefault(name, value)


def _refusal(request: web.Request, status: int, why: str) -> web.StreamResponse:
    if "text/html" not in request.headers.get("Accept", "") or request.path.startswith("/api/"):
        return web.json_response({"error": " ".join(why.split())}, status=status)
    text = (_PAGES / "refused.html").read_text("utf-8")
    text = text.replace("{{ why }}", escape(f"{why[:1].upper()}{why[1:]}."))
    text = text.replace("{{ heading }}", _HEADINGS.get(status, "This cannot be done"))
    text = text.replace("{{ advice }}", "" if status == 401 else " hidden")
    return web.Response(text=text, status=status, content_type="text/html")


async def _page(name: str, _: web.Request) -> web.FileResponse:
    return web.FileResponse(_PAGES / name)


async def _static(request: web.Request) -> web.FileResponse:
    return web.FileResponse(_PAGES / "static" / request.match_info["name"])


class App:
    """The handlers. The pages are the same for everybody: their scripts ask for the rest."""

    def __init__(self, searches: Searches, access: Access) -> None:
        self._searches, self._access = searches, access

    def routes(self) -> list[web.AbstractRouteDef]:
        return [
            web.get("/", partial(_page, "home.html")),
            web.get("/static/{name:[a-z]{1,20}[.][a-z]{1,4}}", _static),
            web.get("/enter", self.enter, allow_head=False),
            web.get(f"/searches/{_FEED}", self.feed),
            web.get(f"/searches/{_ID}", partial(_page, "search.html")),
            web.get(f"/searches/{_ID}/report{{ending:(\\.html)?}}", self.report),
            web.get(f"/searches/{_ID}/text.{{format:txt|md}}", self.text),
            web.get(f"/searches/{_ID}/{_FEED}", self.feed),
            web.get("/api/hello", self.hello),
            web.get("/api/searches", self.searches),
            web.post("/api/searches", self.begin),
            web.post("/api/searches/cancel", self.cancel_all),
            web.get(f"/api/searches/{_ID}", self.search),
            web.get(f"/api/searches/{_ID}/events", self.events, allow_head=False),
            web.post(f"/api/searches/{_ID}/cancel", self.cancel),
            web.post("/api/codes", self.code),
        ]

    # Pages.

    async def enter(self, request: web.Request) -> web.Response:
        """The way in: a code becomes a cookie, and is in no address any more."""
        path = request.query.get("to", "/")
        is_valid = self._access.redeem(request.query.get("code", ""), path)
        is_known = self._access.has_session(request)
        if not is_valid and not is_known:
            raise RefusedError(401, "this address was used already, or is more than a minute old")
        # Not HTTPSeeOther, which would quote the path again.
        found = web.Response(status=303, headers={"Location": path if is_valid else "/"})
        if not is_known:
            value = self._access.open_session()
            found.set_cookie(self._access.cookie, value, httponly=True, samesite="Lax", path="/")
        return found

    # What scripts, programs and the extension ask for, as JSON.

    async def hello(self, request: web.Request) -> web.Response:
        return web.json_response(self._access.hello(request.query.get("nonce", "")))

    async def searches(self, request: web.Request) -> web.Response:
        """The last searches that are ``open`` or ``closed``; with ``before=NUMBER`` older ones."""
        given, state = request.query, request.query.get("state", "")
        before = min(int(given.get("before", 0)), 1 << 62)
        most = max(0, min(int(given.get("limit", _LISTED)), _MOST_LISTED))
        runs = [search.run for search in self._searches.open.values()]
        running = sum(run.state == "searching" for run in runs)
        counts = {"running": running, "waiting": len(runs) - running}
        runs = [run for run in runs if state != "closed" and (not before or run.number < before)]
        if state != "open":
            runs += self._searches.store.closed(before, most)
        runs.sort(key=lambda run: -run.number)
        listed = [_entry(run) for run in runs[:most]]
        return web.json_response({"searches": listed, **counts})

    async def begin(self, request: web.Request) -> web.Response:
        given = await _object(request, _EXPECTED)
        addresses = given.pop("addresses", None)
        if not isinstance(addresses, str) or given.keys() - {"n", "strategy"}:
            raise RefusedError(400, _EXPECTED)
        options = {name: value for name, value in given.items() if value is not None}
        # In a thread: thousands of addresses take long.
        wanted, refused = await asyncio.to_thread(read_lines, addresses, options)
        if not wanted and not refused:
            raise RefusedError(400, "no address is given")
        runs = self._searches.submit(wanted)
        answer: dict[str, Any] = {"searches": [_entry(run) for run in runs], "refused": refused}
        if not runs:
            answer["error"] = f"no line can be searched: {refused[0]['reason']}"
        return web.json_response(answer, status=201 if runs else 400)

    async def search(self, request: web.Request) -> web.Response:
        run = self._run(request)
        found: Answer = {"summary": None, "candidates": [], "text": None}
        if run.has_answer:
            found = self._answer(request)
            for row in found["summary"]["explored"]:
                row["words"] = reason_words(row["reason"]) if row["reason"] else ""
        if text := found["text"]:
            names = {"text": "main_text", "markdown": "main_markdown"}
            shown = {name: text[names.get(name, name)] for name in ("title", "evidence", *names)}
            found["text"] = shown
        return web.json_response({**_entry(run), **found})

    async def cancel(self, request: web.Request) -> web.Response:
        """End one search, with its results so far."""
        run = self._run(request)
        self._searches.cancel([run.id])
        return web.json_response(_entry(run))

    async def cancel_all(self, request: web.Request) -> web.Response:  # noqa: ARG002 - as aiohttp calls it
        return web.json_response({"cancelled": self._searches.cancel([*self._searches.open])})

    async def code(self, request: web.Request) -> web.Response:
        """An address that signs a browser in, once, within a minute."""
        given = await _object(request, 'expected {"to": "/..."}')
        return web.json_response({"address": self._access.entrance(str(given.get("to", "/")))})

    async def events(self, request: web.Request) -> web.StreamResponse:
        """The events of a search, a line each, until it ends."""
        run = self._run(request)
        search = self._searches.open.get(run.id)
        if search is None:
            search = OpenSearch(run)
            search.add("ended", search=vars(run))
        out = web.StreamResponse(headers={"Content-Type": "application/x-ndjson"})
        await out.prepare(request)
        async for events in search.follow():
            lines = "".join(f"{json.dumps(event)}\n" for event in events)
            await out.write(lines.encode())
        await out.write_eof()
        return out

    # Reports to look at, texts and feeds to take away.

    async def report(self, request: web.Request) -> web.Response:
        """The report that the crawl wrote, with a way back; as ``report.html`` to be saved."""
        run = self._run(request)
        page = self._searches.store.report(run.id)
        if page is None:
            raise RefusedError(404, "this search has no report")
        text, headers = page.decode("utf-8", "replace"), {"Content-Security-Policy": SANDBOX}
        if request.match_info["ending"]:
            headers["Content-Disposition"] = 'attachment; filename="report.html"'
        else:
            back = f'<p><a href="/searches/{run.id}">← Back to the search</a></p>'
            text = _BODY.sub(lambda found: found[0] + back, text, count=1)
        return web.Response(text=text, content_type="text/html", headers=headers)

    async def text(self, request: web.Request) -> web.Response:
        form = request.match_info["format"]
        found = self._answer(request)["text"]
        name, kind = {"txt": ("main_text", "plain"), "md": ("main_markdown", "markdown")}[form]
        if not found or not found[name]:
            raise RefusedError(404, "this search has no such text")
        headers = {"Content-Disposition": f'attachment; filename="text.{form}"'}
        body = found[name].encode("utf-8", "replace") + b"\n"
        return web.Response(
            body=body, content_type=f"text/{kind}", charset="utf-8", headers=headers
        )

    async def feed(self, request: web.Request) -> web.Response:
        """Candidates, summaries or texts, as a crawl writes them, of one search or of all."""
        is_one, store = "id" in request.match_info, self._searches.store
        answers = [self._answer(request)] if is_one else store.answers()
        kind, form = request.match_info["kind"], request.match_info["format"]
        # In a thread: there may be twenty thousand.
        file = await asyncio.to_thread(_export, answers, kind, form)
        headers = {"Content-Disposition": f'attachment; filename="{kind}.{form}"'}
        content_type = _FORMATS[form][1]
        return web.Response(body=file, content_type=content_type, charset="utf-8", headers=headers)

    def _run(self, request: web.Request) -> Run:
        run_id = request.match_info["id"]
        if search := self._searches.open.get(run_id):
            return search.run
        if run := self._searches.store.get(run_id):
            return run
        raise RefusedError(404, "no such search in the list")

    def _answer(self, request: web.Request) -> Answer:
        if answer := self._searches.store.answer(request.match_info["id"]):
            return answer
        raise RefusedError(404, "this search has no answer")


def _export(answers: Iterable[Answer], kind: str, form: str) -> IO[bytes]:
    item_class: Any = _KINDS[kind]
    file = TemporaryFile()  # noqa: SIM115 - the response closes it
    names = [each.name for each in fields(item_class)] if form == "csv" else None
    exporter = _FORMATS[form][0](file, fields_to_export=names, encoding="utf-8")
    exporter.start_exporting()
    for answer in answers:
        found = answer["text" if kind == "texts" else kind]
        for row in found if isinstance(found, list) else [found] if found else []:
            exporter.export_item(item_class(**row))
    exporter.finish_exporting()
    file.seek(0)
    return file


def _entry(run: Run) -> dict[str, Any]:
    return {**vars(run), "report": f"/searches/{run.id}/report" if run.has_report else None}


async def _object(request: web.Request, expected: str) -> dict[str, Any]:
    if request.content_type != "application/json":
        raise RefusedError(415, "expected JSON (Content-Type: application/json)")
    try:
        found = json.loads(await request.read())
    except (ValueError, RecursionError):
        raise RefusedError(400, expected) from None
    if not isinstance(found, dict):
        raise RefusedError(400, expected)
    return found

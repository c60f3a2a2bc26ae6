"""The pages themselves: the same for everybody, their scripts ask for what is to be shown."""

from __future__ import annotations

from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

from aiohttp import web

from tplspider.search.session import STRATEGIES

if TYPE_CHECKING:
    from tplspider.plugins.ui.access import Access

_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_STATIC = {
    "report.css": "tplspider.report",  # colours and fonts are those of reports
    "ui.css": "tplspider.plugins.ui",
    "home.js": "tplspider.plugins.ui",
    "search.js": "tplspider.plugins.ui",
    "shown.js": "tplspider.plugins.ui",
    "icon.svg": "tplspider.plugins.ui",
}
_NAMES = {"report.css": "style.css"}
_HEADINGS = {401: "Your browser is not known here", 403: "Refused", 404: "Nothing is here"}
_STRATEGIES = {"guided": "guided (fewer loads)", "paper": "paper (as published)"}


@cache
def _text(name: str) -> str:
    # Not by a path: the package may be in an archive.
    package = files(_STATIC.get(name, "tplspider.plugins.ui"))
    return (package / "pages" / _NAMES.get(name, name)).read_text("utf-8")


def enter_page(status: int, why: str, command: str) -> web.Response:
    """For whoever cannot be answered, in a browser: why, and how to come in."""
    values = {
        "heading": _HEADINGS.get(status, "This cannot be done"),
        "advice": "" if status == 401 else " hidden",
        "command": escape(command),
        "why": escape(why[:1].upper() + why[1:]),
    }
    text = _text("enter.html")
    for name, value in values.items():
        text = text.replace(f"{{{{ {name} }}}}", value)
    return web.Response(text=text, status=status, content_type="text/html")


async def home(request: web.Request) -> web.Response:  # noqa: ARG001 - as aiohttp calls it
    """The form and the list. ``?url=`` is filled in, and nothing starts."""
    names = sorted(STRATEGIES, key=lambda name: (name != "guided", name))
    options = "".join(
        f'<option value="{escape(name)}">{escape(_STRATEGIES.get(name, name))}</option>'
        for name in names
    )
    text = _text("home.html").replace("{{ strategies }}", options)
    return web.Response(text=text, content_type="text/html")


async def search(request: web.Request) -> web.Response:  # noqa: ARG001 - likewise
    """One search, live or over."""
    return web.Response(text=_text("search.html"), content_type="text/html")


async def static(request: web.Request) -> web.Response:
    """A style, a script or a picture of these pages."""
    name = request.match_info["name"]
    if name not in _STATIC:
        raise web.HTTPNotFound
    kind = _KINDS[name[name.rindex(".") :]]
    # It may change with the next version, at the same address.
    headers = {"Cache-Control": "no-cache"}
    return web.Response(text=_text(name), content_type=kind, charset="utf-8", headers=headers)


def enter_with(access: Access, command: str) -> web.RouteDef:
    """The way in: a code becomes a cookie, and is seen in no address any more."""

    async def enter(request: web.Request) -> web.Response:
        path = access.redeem(request.query.get("code", ""))
        if path is None:
            if access.has_session(request.cookies.get(access.cookie, "")):  # a reload, say
                return web.Response(status=303, headers={"Location": "/"})
            why = "this address was used before, or is more than a minute old"
            return enter_page(401, why, command)
        # Not HTTPSeeOther: that would quote the path anew.
        found = web.Response(status=303, headers={"Location": path})
        if access.has_session(request.cookies.get(access.cookie, "")):
            return found  # each new one would drive out that of another browser in the end
        value = access.open_session()
        found.set_cookie(
            access.cookie, value, httponly=True, samesite="Lax", path="/", max_age=30 * 24 * 3600
        )
        return found

    return web.get("/enter", enter, allow_head=False)

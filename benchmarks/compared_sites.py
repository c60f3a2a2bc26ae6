"""Websites on which two checkouts are compared: they are served by us, to both at one address."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from html import escape
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support import hostile_pages, template_site
from tests.support.hostile_server import Exchange, HostileServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Answers = dict[str, Callable[[Exchange], None]]

PROJECT = Path(__file__).resolve().parent.parent
SITES = PROJECT / "tests" / "sites"
DEMO = PROJECT / "tplspider" / "demo" / "site"
MENU = ("/menu/a.html", "/menu/b.html", "/menu/c.html")
HOSTS = ("www.example.com", "docs.example.com", "other.example.net")


@dataclass(frozen=True)
class ComparedSite:
    """A website, the key pages to start from, and the name of the host it has."""

    name: str
    answers: Answers
    keys: tuple[str, ...] = ("/",)
    host: str = "127.0.0.1"
    settings: dict[str, str] = field(default_factory=dict)

    def serve(self) -> HostileServer:
        """A server for it, on a free port."""
        return HostileServer(self.answers)

    def urls(self, server: HostileServer) -> Iterator[str]:
        """The addresses of the key pages."""
        for key in self.keys:
            yield f"http://{self.host}:{server.port}{key}"


def of_folder(folder: Path) -> Answers:
    """The files of a folder: ``/a/`` is a/index.html, ``_redirects`` has redirects."""
    answers: Answers = {}
    for file in sorted(folder.rglob("*")):
        path = "/" + file.relative_to(folder).as_posix()
        if file.name == "_redirects":
            for line in file.read_text("utf-8").splitlines():
                source, target, status = line.split()
                answers[source] = hostile_pages.redirect(target, f"{status} Moved")
        elif file.is_file():
            answers[path] = partial(_send, file)
            if file.name == "index.html":
                answers[path.removesuffix("index.html")] = answers[path]
    return answers


def _send(file: Path, exchange: Exchange) -> None:
    body = file.read_bytes()
    for name, port in (("PORT", exchange.server.port), ("CLOSED", 1)):
        body = body.replace(b":" + name.encode(), f":{port}".encode())
    exchange.answer(body, kind=guess_type(file.name)[0])


def template() -> Answers:
    """Small pages that have a template."""
    return {f"/{name}": hostile_pages.body(html) for name, html in template_site.pages_of().items()}


def domains() -> Answers:
    """A website whose menu leads to other hosts, of its own domain and of another one."""

    def answer(exchange: Exchange) -> None:
        host = exchange.headers.get("host", "")
        items = "".join(
            f"<li><a href=http://{name}:{exchange.server.port}/{page}>{page} of {name}</a></li>"
            for page in "ab"
            for name in HOSTS
        )
        exchange.answer(hostile_pages.html(f"{host}{exchange.path}<ul>{items}</ul>"))

    return dict.fromkeys(("/", "/a", "/b"), answer)


def hostile() -> Answers:
    """Redirects of all kinds, duplicates, odd types, character sets and addresses; then a menu."""
    traps = hostile_pages.TRAPS
    menu = "".join(f'<li><a href="{path}">{path}</a></li>' for path in MENU)
    copies = ("/", "/copy.html", "/?session=1")
    hrefs = [*copies, "/missing.html", *(trap.href or escape(trap.path) for trap in traps)]
    links = "".join(f'<li><a href="{href}">x</a></li>' for href in hrefs)
    key = hostile_pages.body(
        hostile_pages.html(f"<ul>{links}{menu}</ul>"), "text/html; charset=utf-8"
    )

    def member(exchange: Exchange) -> None:
        exchange.answer(hostile_pages.html(f"{exchange.path}<ul>{menu}</ul>"))

    return {
        **hostile_pages.STEPS,
        **{trap.path: trap.answer for trap in traps},
        **dict.fromkeys(copies, key),
        **dict.fromkeys(MENU, member),
    }


def compared_sites() -> list[ComparedSite]:
    """All of them."""
    keys = {
        "menu": ("/docs/guide/four.html", "/", "/missing.html"),
        "alone": ("/", "/nolinks.html"),
    }
    return [
        ComparedSite("demo", of_folder(DEMO), ("/collection/penny-farthing.html",)),
        *(
            ComparedSite(folder.name, of_folder(folder), keys.get(folder.name, ("/",)))
            for folder in sorted(SITES.iterdir())
        ),
        ComparedSite("template", template()),
        ComparedSite("domains", domains(), host=HOSTS[0]),
        ComparedSite("hostile", hostile()),
    ]

"""Small websites with a template: key page ``/``, menu to a, b and c; folders of saved pages."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lxml import etree

from tests.support.crawls import Routes
from tests.support.site_server import Handler
from tplspider.sources.saved_folder import SavedFile, SavedFolder
from tplspider.web.page import WebPage

CONTENT = {
    "": "Only the key page tells this. It does so at some length, as pages do.",
    "a": "The first page of the menu is about apples, and where they grow best.",
    "b": "Bees live in the second one, among flowers, wax and a good deal of honey.",
    "c": "On the third page cars are parked next to each other in the afternoon sun.",
}


def page(content: str, *, encoding: str = "utf-8", menu: str = "Menu", more: str = "") -> bytes:
    """A page with the template, and *content* of its own in a paragraph."""
    links = "".join(f"<li><a href=/{name}>{menu} {name}</a></li>" for name in "abc")
    return (
        f"<!DOCTYPE html><html><head><meta charset={encoding}><title>{menu}</title></head>\r\n"
        f"<body><div id=top><h2>{menu}</h2><ul>{links}</ul></div>"
        f"<div id=main><p>{content}</p>{more}</div>"
        f"<div id=foot><p>{menu}: all rights reserved</p></div></body></html>"
    ).encode(encoding)


def routes_of(pages: dict[str, bytes]) -> Routes:
    """Routes that give these pages, which tell their encodings themselves."""

    def route(body: bytes) -> Callable[[Handler], object]:
        return lambda request: request.answer(200, body, Content_Type="text/html")

    return {f"/{name}": route(body) for name, body in pages.items()}


def pages_of(content: dict[str, str] | None = None, **kwargs: Any) -> dict[str, bytes]:
    """The four pages, with *content* in place of the usual."""
    return {name: page(text, **kwargs) for name, text in {**CONTENT, **(content or {})}.items()}


def elements(file: Path, encoding: str, xpaths: list[str]) -> list[Any]:
    """The elements of a saved page that XPaths name, one each, as lxml alone finds them."""
    tree = etree.parse(str(file), etree.HTMLParser(encoding=encoding))
    found: list[Any] = [tree.xpath(xpath) for xpath in xpaths]
    assert all(len(one) == 1 for one in found), xpaths
    return [element for (element,) in found]


NUMBERS = "one two three four five six seven eight nine ten eleven twelve".split()


def own_text(number: int) -> str:
    word = NUMBERS[number % len(NUMBERS)]
    return f"Page {number} is about {word}, its {word} friends, and number {number * 7919}."


def save(path: Path, number: int = 1, **kwargs: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(page(own_text(number), **kwargs))
    return path


def save_site(folder: Path, count: int = 6) -> Path:
    for number in range(count):
        save(folder / f"page-{number}.html", number)
    return folder


def saved_files(folder: Path, base_url: str = "") -> dict[str, SavedFile]:
    """The files of a folder, by their paths and in their order."""
    return {os.fsdecode(each.path): each for each in SavedFolder(folder, base_url).pages()}


def texts(folder: Path) -> dict[str, str]:
    pages = {path: each.read() for path, each in saved_files(folder).items()}
    return {path: page.text for path, page in pages.items() if isinstance(page, WebPage)}

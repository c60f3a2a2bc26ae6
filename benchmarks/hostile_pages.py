"""What hostile key pages cost: read, the search opened, the first links taken. In seconds."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from benchmarks.timing import report, side_by_side
from tplspider.search.session import STRATEGIES, SearchLimits, SearchOptions, SearchSession
from tplspider.web.page import WebPage

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://example.org/dir/index.html"
LIMITS = SearchLimits(in_flight=8, longest_url=2083)
MANY = 60_000  # links
BOUND = 3


def key_page(html: str, charset: str = "utf-8") -> WebPage:
    """A page with a few links of its own."""
    menu = "".join(f"<a href=menu{number}.html>Menu</a>" for number in range(5))
    body = f"<title>Hostile</title>{menu}{html}".encode()
    return WebPage(URL, body, headers={"content-type": f"text/html; charset={charset}"})


def links(form: str) -> Callable[[int], WebPage]:
    """So many links, each with its number."""
    return lambda count: key_page("".join(f"<a href={form.format(i)}>x</a>" for i in range(count)))


def repeated(start: str, again: str, end: str = "", times: float = 1) -> Callable[[int], WebPage]:
    """A page that repeats itself."""
    return lambda count: key_page(start + again * int(count * times) + end)


def _attributes(count: int) -> str:
    return " ".join(f"a{number}" for number in range(count))


KINDS: dict[str, Callable[[int], WebPage]] = {
    "links": links("p{}.html"),
    "queries": links("?id={}&b=1"),
    "queries without values": links("?c{}&b&a"),
    "odd queries": links("?c{}+&b&a"),
    "directories": links("d{0}/e{0}/"),
    "hosts": links("http://h{}.example.net/"),
    "long base": lambda count: key_page(
        f"<base href='/{'x/' * count}'>" + "".join(f"<a href=p{i}>x" for i in range(count))
    ),
    "attributes": lambda count: key_page(f"<p {_attributes(count)}>" + "<!--" * count),
    "comments": repeated("", "<!--"),
    "scripts": repeated("", "<script"),
    "open quotes": repeated("", "<a b=\"'"),
    "punycode": lambda count: key_page("punycode-" * count, "punycode"),
    "nested": repeated("", "<div>"),
    "nested links": repeated("", "<a href=x><b>"),
    "attribute": repeated("<i title=", "x", ">Wide", 100),
    "address": repeated("<a href=/", "x", ">Far", 100),
    "dots": repeated("<a href=", "../", "x>Up", 8),
    "endings": repeated("<a href=/x", ".x", ">End", 8),
    "empty comments": repeated("", "<!---->", times=6),
    "hidden text": repeated("<div>x" * 2000, "<i>x</i>", "<script>x</script>"),
    "title": repeated("<title>", "t", "</title>", 50),
}

UNBOUND = {"odd queries"}  # w3lib is asked for each of them, and that takes its time


def opened(page: WebPage, strategy: str) -> SearchSession:
    """A search with this key page, of which the first links were asked for."""
    session = SearchSession(URL, SearchOptions(strategy=strategy), LIMITS)
    # Anew: what was found out about a page is kept in it.
    session.open(WebPage(page.url, page.body, headers=page.headers))
    session.take()
    return session


def run() -> bool:
    """Print the seconds; whether all hold."""
    holds = True
    print("Hostile key pages, of 60,000 links or the like, until the first links are taken")
    for kind, make in KINDS.items():
        page = make(MANY)
        for strategy in STRATEGIES:
            (seconds,) = side_by_side(partial(opened, page, strategy), rounds=1)
            bound = None if kind in UNBOUND else BOUND
            holds &= report(f"{kind}, {strategy}", seconds, bound, " s")
    return holds


if __name__ == "__main__":
    raise SystemExit(not run())

"""Any number of small websites, made from their numbers: nothing of them is stored.

``site-17.test`` has a menu of five to eight pages that link to each other, articles, and a few
links outside the menu: to a page that robots.txt forbids, one that is missing, one that redirects,
and another site. The menu is above or below the text. In one site of twelve no page links back, so
that there is nothing to find.
"""

from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any
from urllib.parse import urlsplit

from tplspider import NoPage, WebPage
from tplspider.web.page import ROBOTS

_WORDS = (
    "amber basin cedar delta ember fjord grove harbor island juniper kettle lantern meadow north"
    " orchard pebble quarry river spruce timber umber valley willow yarrow zephyr anchor bridge"
    " candle drift engine forest garden hollow iron jetty knoll ledger marble needle ocean"
).split()
_SECTIONS = [word for word in _WORDS if len(word) > 5]
_random = Random(14)
_SENTENCES = [
    f"{' '.join(_random.choices(_WORDS, k=_random.randint(6, 14))).capitalize()}."
    for _ in range(400)
]
COMMON = 7  # the number of the site that all ``moved-N.test`` redirect to, each to a page of it
ROBOTS_TXT = "User-agent: *\nDisallow: /private/\n"


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class MadeUpSite:
    number: int
    kind: str  # where the menu is: above, below, nowhere
    menu: list[str]  # paths
    articles: list[str]
    rules: int  # of robots.txt that concern nobody

    @property
    def pages(self) -> list[str]:
        """The paths that may be key pages, the best known of them first."""
        return ["/", *self.menu, *self.articles]


@lru_cache(maxsize=64)  # sites are asked for by turns
def made_up_site(number: int) -> MadeUpSite:
    random = Random(number)
    kind = random.choices(["above", "below", "nowhere"], [8, 3, 1])[0]
    sections = random.sample(_SECTIONS, random.randint(5, 8))
    articles = [
        f"/{random.choice(sections)}/{random.choice(_WORDS)}-{place}.html"
        for place in range(random.randint(10, 20))
    ]
    return MadeUpSite(number, kind, [f"/{s}/" for s in sections], articles, random.randint(5, 150))


def number_of(host: str) -> int | None:
    """The number in the name of a host, whatever stands before it; None for another name.

    >>> number_of("site-17.test:8000"), number_of("late-3.test"), number_of("example.org")
    (17, 3, None)
    """
    name, _, rest = host.partition(":")[0].partition(".")
    number = name.rpartition("-")[2]
    return int(number) if rest == "test" and number.isdecimal() else None


def answer(host: str, path: str) -> Answer:
    number = number_of(host)
    if number is None:
        return Answer(404, {}, b"")
    if host.startswith("moved-") and path != "/robots.txt":
        pages, port = made_up_site(COMMON).pages, host.partition(":")[2]
        to = f"http://common-{COMMON}.test:{port}{pages[number % len(pages)]}"
        return Answer(302, {"Location": to}, b"")
    if host.startswith("swap-") and path == "/":
        port, other = host.partition(":")[2], number ^ 1
        to = f"http://swap-{other}.test:{port}{made_up_site(other).articles[0]}"
        return Answer(302, {"Location": to}, b"")
    site = made_up_site(number)
    if path == "/robots.txt":
        rules = "".join(f"Disallow: /closed-{place}/\n" for place in range(site.rules))
        delay = "Crawl-delay: 10\n" if host.startswith("delay-") else ""
        return Answer(200, {"Content-Type": "text/plain"}, f"{ROBOTS_TXT}{rules}{delay}".encode())
    if path == "/go/":
        return Answer(302, {"Location": site.articles[-1]}, b"")
    if path not in site.pages and path not in ("/about.html", "/private/terms.html"):
        return Answer(404, {"Content-Type": "text/html"}, b"<h1>Not here</h1>")
    return Answer(200, {"Content-Type": "text/html; charset=utf-8"}, _page(site, path).encode())


def _page(site: MadeUpSite, path: str) -> str:
    random = Random(f"{site.number} {path}")
    name = path.strip("/").rpartition("/")[2].removesuffix(".html") or f"site {site.number}"
    menu = "".join(f"<li><a href='{to}'>{to.strip('/')}</a></li>" for to in site.menu)
    nav = f"<nav><ul class='menu'>{menu}</ul></nav>"
    body, size = [f"<h1>{name}</h1>"], random.randint(4_000, 19_000)
    while size > 0:
        body.append(f"<p>{' '.join(random.choices(_SENTENCES, k=5))}</p>")
        size -= len(body[-1])
    if site.kind == "nowhere":  # to what comes later, and never back
        pages = site.pages
        place = pages.index(path) + 1 if path in pages else len(pages)
        to_read = pages[place : place + 6]
        nav = footer = ""
    else:
        to_read = random.sample(site.articles, 4)
        footer = (
            "<footer><a href='/about.html'>About</a> <a href='/private/terms.html'>Terms</a>"
            " <a href='/lost.html'>Lost</a> <a href='/go/'>News</a>"
            " <a href='http://elsewhere.example/'>Friends</a></footer>"
        )
    links = [f"<p>Read <a href='{to}'>{to.rpartition('/')[2] or to}</a> too.</p>" for to in to_read]
    for link in links:
        body.insert(random.randint(1, len(body)), link)
    main = f"<main>{''.join(body)}</main>"
    parts = f"{nav}{main}" if site.kind == "above" else f"{main}{nav}"
    return (
        f"<!DOCTYPE html><html><head><title>{name}</title></head><body><header><a href='/'>"
        f"Site {site.number}</a></header>{parts}{footer}</body></html>"
    )


class MadeUpSource:
    """The sites as a source of pages, for searches without a network; robots.txt is obeyed."""

    def load(self, url: str) -> WebPage | NoPage:
        parts = urlsplit(url)
        if parts.path.startswith("/private/"):
            return NoPage(ROBOTS)
        found = answer(parts.netloc, parts.path or "/")
        headers = {name.lower(): value for name, value in found.headers.items()}
        return WebPage(url.partition("#")[0], found.body, found.status, headers)


def key_pages(count: int, sites: int, port: int, seed: int = 0) -> list[dict[str, Any]]:
    """Rows of a list: as many key pages, spread over as many sites, in an order by chance.

    Some ask for more pages, or for another strategy. Of fifty one is missing, and one redirects.
    """
    random = Random(seed)
    rows: list[dict[str, Any]] = []
    for place in range(count):
        turn, number = divmod(place, sites)
        pages = Random(number + 1).sample(made_up_site(number).pages, 12)
        odd = {24: "/go/", 49: "/lost.html"}
        path = odd.get(place % 50, pages[turn % len(pages)])
        row: dict[str, Any] = {
            "id": f"key-{place}",
            "url": f"http://site-{number}.test:{port}{path}",
        }
        if place % 10 == 3:
            row["tpl_n"] = 4
        if place % 7 == 5:
            row["tpl_strategy"] = "guided"
        rows.append(row)
    random.shuffle(rows)
    return rows

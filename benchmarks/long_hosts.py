"""Links whose host is too long, as a multiple of plain ones of that length."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from benchmarks.timing import report, side_by_side
from tplspider import Site, get_links, identity, parse_html
from tplspider.template.flat_page import Vocabulary, flatten
from tplspider.web.html import Element, link_addresses

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


URL = "http://example.org/docs/index.html"
LINKS, LENGTH = 3_000, 1_000
BOUND = 5


def page(starts: list[str], filling: str) -> Element:
    """The tree of a page with links that start in these ways, filled up to their length."""
    whole = filling * LENGTH
    hrefs = (start + whole[: LENGTH - len(start)] for start in starts)
    return parse_html("".join(f"<p><a href='{href}'>x</a>" for href in hrefs))


def hosts(alphabet: str, labels: int, length: int) -> list[str]:
    """Addresses of hosts that are not the page's, each another one, with as many labels."""
    random = Random(5)
    return [
        "http://" + ".".join("".join(random.choices(alphabet, k=length)) for _ in range(labels))
        for _ in range(LINKS)
    ]


CHINESE = "".join(map(chr, range(0x4E00, 0x9FFF)))
PAGES: dict[str, Callable[[], Element]] = {
    "plain": lambda: page([f"/p{i}/" for i in range(LINKS)], "x"),
    "host beyond ASCII": lambda: page(hosts(CHINESE, 1, 900), "/x"),
    "host beyond ASCII, with dots": lambda: page(hosts("\u0301\u0323é", 18, 49), "/x"),
    "host in ASCII": lambda: page(hosts("abc", 1, 900), "/x"),
    "user and password": lambda: page(
        [f"{start}@example.org/p{i}/" for i, start in enumerate(hosts(CHINESE, 1, 900))], "x"
    ),
    "host of 250 characters, of another site": lambda: page(hosts(CHINESE, 5, 49), "/x"),
}


KINDS = ("key page", "other page", "flat page")


def ratios(name: str, kinds: Sequence[str] = KINDS, rounds: int = 5) -> dict[str, float]:
    """What the links of a page cost: those of a key page, of another page, of a flat page."""
    site = Site(identity(URL))
    plain, odd = PAGES["plain"](), PAGES[name]()

    def read(root: Element, kind: str) -> object:
        if kind == "key page":
            return get_links(root, URL, site)
        if kind == "other page":
            return link_addresses(root, URL, site)
        return flatten(root, URL, Vocabulary())

    found = {}
    for kind in kinds:
        expected, taken = side_by_side(
            lambda kind=kind: read(plain, kind),  # type: ignore[misc]  # bound now
            lambda kind=kind: read(odd, kind),  # type: ignore[misc]  # too
            rounds=rounds,
        )
        found[kind] = taken / expected
    return found


def run() -> bool:
    """Print the ratios; whether all hold."""
    holds = True
    print(f"{LINKS:,} links of {LENGTH:,} characters, as a multiple of plain ones")
    for name in PAGES:
        for kind, ratio in ratios(name).items():
            holds &= report(f"{name}: {kind}", ratio, BOUND)
    return holds


if __name__ == "__main__":
    raise SystemExit(not run())

"""sortLinks on pages with thousands of links of one directory, as a multiple of parsing them."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from benchmarks.timing import report, side_by_side
from tplspider import Site, get_links, identity, parse_html, sort_links

if TYPE_CHECKING:
    from collections.abc import Callable

URL = "http://example.org/a/index.html"


def realistic(count: int) -> str:
    """Nested lists and tables, some twenty elements deep."""
    random = Random(1)
    blocks = []
    for start in range(0, count, 20):
        if random.random() < 0.5:
            block = "".join(
                f"<li><span><a href=p{i}.html>Item {i}</a></span>"
                f"<ul><li><a href=p{i + 1}.html>Item {i + 1}</a></li></ul></li>"
                for i in range(start, start + 20, 2)
            )
            blocks.append(f"<div><section><ul>{block}</ul></section></div>")
        else:
            rows = (
                "".join(f"<td><a href=p{i}.html>Cell {i}</a></td>" for i in range(row, row + 4))
                for row in range(start, start + 20, 4)
            )
            block = "".join(f"<tr>{row}</tr>" for row in rows)
            blocks.append(f"<div><table>{block}</table></div>")
    return f"<body>{'<div>' * 13}{''.join(blocks)}{'</div>' * 13}</body>"


def flat(count: int) -> str:
    """All links in one element."""
    return f"<body>{''.join(f'<a href=p{i}.html>Item {i}</a> ' for i in range(count))}</body>"


def paragraphs(count: int) -> str:
    """One link a paragraph."""
    rows = (f"<p>Some words <a href=p{i}.html>Item {i}</a> and more.</p>" for i in range(count))
    return f"<body>{''.join(rows)}</body>"


def chains(count: int, depth: int = 2_000) -> str:
    """Elements inside elements, 2,000 deep, a link in each."""
    chain = []
    for start in range(0, count, depth):
        links = range(start, min(start + depth, count))
        opened = "".join(f"<div><a href=p{i}.html>Item {i}</a>" for i in links)
        chain.append(opened + "</div>" * len(links))
    return f"<body>{''.join(chain)}</body>"


PAGES: dict[Callable[[int], str], float] = {realistic: 4, flat: 4, paragraphs: 4, chains: 12}


def time_of(page: Callable[[int], str], count: int, rounds: int) -> tuple[float, float]:
    """Seconds to parse a page, and to sort its links."""
    html = page(count)
    root = parse_html(html)
    links = get_links(root, URL, Site(identity(URL)))
    assert len(links) == count
    parse, sort = side_by_side(
        lambda: parse_html(html), lambda: sort_links(links, identity(URL)), rounds=rounds
    )
    return parse, sort


def run() -> bool:
    """Print the ratios; whether all hold."""
    print("sortLinks, as a multiple of the time to parse the page")
    holds = True
    for page, bound in PAGES.items():
        parse, sort = time_of(page, 10_000, rounds=9)
        holds &= report(f"{page.__name__}, 10,000 links", sort / parse, bound)
    print("sortLinks, growth from 5,000 to 50,000 links")
    for page in PAGES:
        _, small = time_of(page, 5_000, rounds=5)
        _, large = time_of(page, 50_000, rounds=3)
        holds &= report(page.__name__, large / small, 20)
    return holds


if __name__ == "__main__":
    raise SystemExit(not run())

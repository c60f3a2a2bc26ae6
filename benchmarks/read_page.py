"""Links, visible text and fingerprint of a page, as a multiple of parsing it."""

from __future__ import annotations

from random import Random

from benchmarks.timing import report, side_by_side
from tplspider import Site, identity, parse_html, read_page

URL = "http://example.org/docs/guide/index.html"
WORDS = (
    "a about all also and are as at be because between by can could every first for from has have"
    " in into is it its language library made many menu more not number of on one other page pages"
    " reader section same several should site some template than that the their these they this"
    " through to under used very was website were what when which while with without words would"
).split()


def page(*, queries: bool) -> str:
    """A page of 100 kB with 300 distinct addresses, scripts and styles."""
    random = Random(2)
    blocks = []
    for i in range(300):
        href = (
            f"/docs/part{i % 7}/p{i}.html",
            f"p{i}.html",
            f"../x/p{i}/",
            f"http://example.org/y/{i}",
        )[i % 4]
        if queries and i % 5 == 0:
            href += f"?id={i}&lang=en"
        text = " ".join(random.choices(WORDS, k=48))
        blocks.append(
            f'<li class="entry"><a href="{href}" title="Entry {i}">Entry {i}</a>'
            f"<p>{text} <b>and</b> <i>more</i>.</p></li>"
        )
    return (
        "<!DOCTYPE html><html><head><title>A page</title><style>p { color: red }</style>"
        "<script>var a = 1;</script></head><body><div><ul>"
        + "\n".join(blocks)
        + "</ul></div><noscript><p>No script.</p></noscript><script>go()</script></body></html>"
    )


def run() -> bool:
    """Print the ratios; whether all hold."""
    holds = True
    print("Links, visible text and fingerprint, as a multiple of the time to parse the page")
    for queries, bound in ((False, 2.5), (True, 4)):
        html = page(queries=queries)
        root = parse_html(html)
        site = Site(identity(URL))
        assert len(read_page(root, URL, site).links) == 300
        parse, read = side_by_side(
            lambda html=html: parse_html(html),  # type: ignore[misc]  # bound now
            lambda root=root, site=site: read_page(root, URL, site),  # type: ignore[misc]  # too
            rounds=60,
        )
        kind = "one in five with a query" if queries else "none with a query"
        name = f"{len(html) // 1000} kB, 300 addresses, {kind}"
        holds &= report(name, read / parse, bound)
    return holds


if __name__ == "__main__":
    raise SystemExit(not run())

"""Stripping the pages of a site by companions that are kept ready, against other extractors.

``python -m benchmarks.site_templates`` builds a site of 1,000 pages of several kinds, with the
menu, the sidebar and the footer that such sites have; ``--folder DIR`` takes real pages. Each page
is compared with the three pages of its kind that come first, the simplest choice there is.
"""

from __future__ import annotations

import argparse
from functools import cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from benchmarks.extraction import words
from benchmarks.timing import report, side_by_side
from tplspider.template.companions import Companions
from tplspider.template.extract import PageSource
from tplspider.web.flat_page import Vocabulary, flatten
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SITE = "http://example.org/"
SECTIONS = 20
PAGES = 50  # of a section, one of them its index
COMPANIONS = 3
FASTER = 2.5  # than trafilatura, text only
TEXTS = frozenset({"main_text", "content_text", "title"})
MEASURED = 200
TOGETHER = 20  # pages at a time, so that all are measured in the same conditions


@cache
def title_of(section: int, page: int) -> str:
    """What a page is called."""
    return words(Random(PAGES * section + page), 4).capitalize()


def address(section: int, page: int) -> str:
    """Where a page is."""
    name = title_of(section, page).lower().replace(" ", "-")
    return f"/{section + 1}/{name}.html" if page else f"/{section + 1}/"


def link(section: int, page: int) -> str:
    """A link to a page."""
    return f'<a href="{address(section, page)}">{title_of(section, page)}</a>'


def prose(random: Random, blocks: int) -> str:
    """Paragraphs with links and emphasis, and a list now and then."""
    parts = []
    for _ in range(blocks):
        to = link(random.randrange(SECTIONS), random.randrange(PAGES))
        parts.append(
            f"<p>{words(random, 35).capitalize()} {to}, "
            f"{words(random, 25)} <em>{words(random, 2)}</em> {words(random, 18)}.</p>\n"
        )
        if random.random() < 0.25:
            entries = "".join(f"<li>{words(random, 9)}</li>\n" for _ in range(4))
            parts.append(f"<ul>\n{entries}</ul>\n")
    return "".join(parts)


def article(random: Random, title: str) -> str:
    """A post: who wrote it and when, its text, pictures, tags and comments."""
    tags = ", ".join(
        f'<a href="/tag/{tag}/" rel="tag">{tag}</a>' for tag in words(random, 4).split()
    )
    comments = "".join(
        f'<li class="comment" id="comment-{random.randrange(9999)}"><cite>{words(random, 1)}</cite>'
        f" <time>{random.randrange(1, 29)} May</time><p>{words(random, 25)}.</p></li>\n"
        for _ in range(random.randrange(4))
    )
    return (
        f'<article class="post"><h1>{title}</h1><p class="meta">By <a href="/people/">'
        f"{words(random, 2)}</a> on {random.randrange(1, 29)} May</p>\n{prose(random, 4)}"
        f'<figure><img src="/images/{random.randrange(999)}.jpg" alt="{words(random, 3)}">'
        f"<figcaption>{words(random, 8)}</figcaption></figure>\n{prose(random, 6)}"
        f'<p class="tags">Tags: {tags}</p></article>\n'
        f'<section class="comments"><h2>Comments</h2><ol>{comments}</ol></section>\n'
    )


def reference(random: Random, title: str) -> str:
    """A page of a manual: sections with code and a table."""
    parts = [f'<div class="manual"><h1>{title}</h1>\n']
    for number in range(5):
        code = "\n".join(f"{words(random, 1)} = {words(random, 1)}({n})" for n in range(5))
        rows = "".join(
            f"<tr><td><code>{words(random, 1)}</code></td><td>{words(random, 9)}</td></tr>\n"
            for _ in range(4)
        )
        parts.append(
            f'<section id="s{number}"><h2>{words(random, 3)}<a class="headerlink" href="#s{number}"'
            f">¶</a></h2>\n{prose(random, 2)}<pre><code>{code}</code></pre>\n"
            f"<table><tr><th>Name<th>Meaning</tr>\n{rows}</table></section>\n"
        )
    return "".join([*parts, "</div>\n"])


def index(random: Random, section: int) -> str:
    """The list of the pages of a section."""
    entries = "".join(
        f'<div class="entry"><h2>{link(section, page)}</h2>'
        f'<p>{words(random, 25)} <a class="more" href="{address(section, page)}">Read more</a></p>'
        "</div>\n"
        for page in random.sample(range(1, PAGES), 20)
    )
    return f'<div class="entries"><h1>{title_of(section, 0)}</h1>\n{entries}</div>\n'


def page_html(random: Random, section: int, page: int) -> str:
    """A page: what it is about, in the frame that all pages have."""
    title = title_of(section, page)
    kind = article if section % 2 else reference
    content = kind(random, title) if page else index(random, section)
    menu = "".join(
        f'<li class="menu-item{" current" if top == section else ""}">{link(top, 0)}'
        '<ul class="sub-menu">'
        + "".join(f"<li>{link(top, n)}</li>" for n in range(1, 5))
        + "</ul></li>\n"
        for top in range(8)
    )
    beside = "".join(f"<li>{link(section, n)}</li>\n" for n in range(1, 16))
    footer = "".join(
        f'<div class="column"><h4>{name}</h4><ul>'
        + "".join(f'<li><a href="/{name.lower()}/{n}/">{name} {n}</a></li>\n' for n in range(5))
        + "</ul></div>\n"
        for name in ("About", "Help", "Follow")
    )
    return (
        f"<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'><title>{title} - The site"
        f"</title><link rel='stylesheet' href='/style.css'><script>var page = {page};</script>"
        f"</head>\n<body class='page page-{page}'><a class='skip' href='#main'>To content</a>\n"
        f"<header id='top'><a class='logo' href='/'><img src='/logo.png' alt='The site'></a>\n"
        f"<nav class='main-menu'><ul>{menu}</ul></nav>\n<form action='/search'><input name='q'>"
        f"<button>Search</button></form></header>\n<div class='breadcrumb'><a href='/'>Home</a> / "
        f"{link(section, 0)} / <span>{title}</span></div>\n"
        f"<div class='columns'><main id='main'>{content}</main>\n<aside class='sidebar'><h3>In this"
        f" part</h3><ul>{beside}</ul></aside></div>\n<footer>{footer}<p class='legal'>© 2024 The "
        "makers of the site. All rights reserved.</p></footer><script>go();</script></body></html>"
    )


def site() -> list[PageSource]:
    """All pages of the site, section by section."""
    random = Random(3)
    return [
        PageSource(SITE + address(section, page)[1:], page_html(random, section, page))
        for section in range(SECTIONS)
        for page in range(PAGES)
    ]


def folder_pages(folder: Path) -> list[PageSource]:
    """The HTML files in a folder and those below it."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in {".html", ".htm"})
    return [
        PageSource(SITE + file.relative_to(folder).as_posix(), file.read_text("utf-8", "replace"))
        for file in files
    ]


def companions_of(page: PageSource, pages: Sequence[PageSource]) -> list[PageSource]:
    """Pages of the same directory and the first of all, without the page itself."""
    directory = page.url.rpartition("/")[0]
    near = [other for other in pages if other.url.rpartition("/")[0] == directory]
    wanted = [*near[1 : COMPANIONS + 2], *pages[: COMPANIONS + 1]]
    return [other for other in dict.fromkeys(wanted) if other != page][:COMPANIONS]


def others() -> dict[str, Callable[[PageSource], object]]:
    """The other extractors that are installed."""
    found: dict[str, Callable[[PageSource], object]] = {}
    try:
        trafilatura: Any = import_module("trafilatura")
        found["trafilatura"] = lambda page: trafilatura.extract(page.html)
    except ImportError:
        print("  trafilatura is not installed: pip install -r requirements-eval.txt")
    try:
        resiliparse: Any = import_module("resiliparse.extract.html2text")
        found["resiliparse"] = lambda page: resiliparse.extract_plain_text(
            page.html, main_content=True
        )
    except ImportError:
        print("  resiliparse is not installed: pip install -r requirements-main.txt")
    return found


def run(folder: Path | None = None) -> bool:
    """Print the times and the ratios; whether the ratio holds."""
    pages = folder_pages(folder) if folder else site()
    size = sum(len(page.html) for page in pages) / len(pages) / 1000
    print(f"Stripping a site of {len(pages):,} pages of {size:.1f} kB, by kept companions")
    near = {page.url: companions_of(page, pages) for page in pages}
    ready = Companions(most=25)
    kinds: dict[str, Callable[[PageSource], object]] = {
        "parsing": lambda page: parse_html(page.html),
        "flattening": lambda page: flatten(parse_html(page.html), page.url, Vocabulary()),
        "text only": lambda page: ready.extract(page, near[page.url], wanted=TEXTS),
        "all fields": lambda page: ready.extract(page, near[page.url]),
        **others(),
    }
    measured = pages[:: max(len(pages) // MEASURED, 1)]
    times = dict.fromkeys(kinds, 0.0)
    for start in range(0, len(measured), TOGETHER):
        some = measured[start : start + TOGETHER]
        functions = [
            lambda kind=kind, some=some: [kind(page) for page in some] for kind in kinds.values()
        ]
        for kind, seconds in zip(kinds, side_by_side(*functions, rounds=3), strict=True):
            times[kind] += seconds
    for kind, seconds in times.items():
        print(f"  {kind:<64} {seconds / len(measured) * 1000:8.2f} ms a page")
    if "trafilatura" not in times:
        return True
    slowest = times["trafilatura"]
    holds = report("trafilatura / text only", slowest / times["text only"], FASTER, at_least=True)
    print(f"  {'trafilatura / all fields':<64} {slowest / times['all fields']:8.2f}x")
    return holds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="a folder of HTML pages of one site")
    raise SystemExit(not run(parser.parse_args().folder))

"""Stripping the pages of a site by its pool, against other extractors.

``python -m benchmarks.site_templates`` builds a site of 1,000 pages with the proportions of real
ones (:mod:`benchmarks.plain_site`), which the bound is for, and one with three times as many links,
the worst case; ``--folder DIR`` takes real pages, of one site. ``--memory 1000,10000,100000``
strips so many pages of 1,000 sites, which come in turn.
"""

from __future__ import annotations

import argparse
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from random import Random
from resource import getpagesize
from time import process_time
from typing import TYPE_CHECKING, Any

from benchmarks import plain_site
from benchmarks.extraction import words
from benchmarks.timing import report, side_by_side
from tplspider.pools.pool import Pool, PooledPage
from tplspider.pools.site_templates import SiteTemplates, Stripper
from tplspider.template.flat_page import Vocabulary, flatten
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SITE = "http://example.org/"
SECTIONS = 20
PAGES = 50  # of a section, one of them its index
SITES = 1_000  # for the memory
MET = 10 * SITES  # pages: from there on the memory is to be flat
FLAT = 1.25
FASTER = 2.0  # than trafilatura, which gives one text as well
TEXT = frozenset({"main_text"})
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


def site() -> list[PooledPage]:
    """All pages of the site with many links, section by section."""
    random = Random(3)
    return [
        PooledPage.of(SITE + address(section, page)[1:], page_html(random, section, page))
        for section in range(SECTIONS)
        for page in range(PAGES)
    ]


def folder_pages(folder: Path) -> list[PooledPage]:
    """The HTML files in a folder and those below it."""
    files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in {".html", ".htm"})
    return [
        PooledPage.of(
            SITE + file.relative_to(folder).as_posix(), file.read_text("utf-8", "replace")
        )
        for file in files
    ]


def others() -> Iterator[tuple[str, Callable[[str], object]]]:
    """The other extractors that are installed."""
    try:
        trafilatura: Any = import_module("trafilatura")
        yield "trafilatura", trafilatura.extract
    except ImportError:
        print("  trafilatura is not installed: pip install -e '.[eval]'")
    try:
        resiliparse: Any = import_module("resiliparse.extract.html2text")
        yield "resiliparse", partial(resiliparse.extract_plain_text, main_content=True)
    except ImportError:
        print("  resiliparse is not installed: pip install resiliparse")


def run(folder: Path | None = None) -> bool:
    """Print the times and the ratios; whether the bound holds."""
    if folder:
        return strip_site("a site", folder_pages(folder))
    plain = [PooledPage.of(url, html) for url, html in plain_site.pages()]
    holds = strip_site("a site with the proportions of real ones", plain)
    strip_site("a site with three times as many links", site(), least=None)
    return holds


def strip_site(what: str, pages: list[PooledPage], least: float | None = FASTER) -> bool:
    """Print what it takes to strip the pages of a site; whether it is that much faster."""
    size = sum(len(page.html) for page in pages) / len(pages) / 1000
    print(f"Stripping {what}: {len(pages):,} pages of {size:.1f} kB, by their pool")
    pool = Pool(pages).pages
    stripper = Stripper()
    measured = pages[:: max(len(pages) // MEASURED, 1)]
    for page in measured:  # as in the course of a crawl: what is needed is ready
        stripper.strip("site", page, pool, wanted=TEXT)
    htmls = {page: page.html for page in measured}
    kinds: dict[str, Callable[[PooledPage], object]] = {
        "parsing": lambda page: parse_html(htmls[page]),
        "flattening": lambda page: flatten(parse_html(htmls[page]), page.url, Vocabulary()),
        "main_text": lambda page: stripper.strip("site", page, pool, wanted=TEXT),
        "all fields": lambda page: stripper.strip("site", page, pool),
    }
    for name, extract in others():
        kinds[name] = partial(lambda extract, page: extract(htmls[page]), extract)
    times = dict.fromkeys(kinds, 0.0)
    for start in range(0, len(measured), TOGETHER):
        some = measured[start : start + TOGETHER]
        functions = [
            lambda kind=kind, some=some: [kind(page) for page in some] for kind in kinds.values()
        ]
        for kind, seconds in zip(kinds, side_by_side(*functions, rounds=3), strict=True):
            times[kind] += seconds
    ours = times["main_text"]
    for kind, seconds in times.items():
        each = seconds / len(measured) * 1000
        print(f"  {kind:<52} {each:8.2f} ms a page   main_text {ours / seconds:6.2f}x")
    print(f"  {'pages a second and core, main_text':<52} {len(measured) / ours:8.0f}")
    if "trafilatura" not in times:
        return True
    return report("trafilatura / main_text", times["trafilatura"] / ours, least, at_least=True)


def resident() -> float:
    """The memory that this process holds, in MB."""
    pages = Path("/proc/self/statm").read_text("ascii").split()[1]
    return int(pages) * getpagesize() / 1_000_000


def small_page(of_site: int, number: int) -> tuple[str, str]:
    """A page of one of many sites."""
    random = Random(1_000_000 * of_site + number)
    host = f"http://site{of_site}.example"
    menu = "".join(f"<li><a href='/{n}.html'>{words(Random(of_site + n), 2)}</a>" for n in range(9))
    text = "".join(f"<p>{words(random, 40)}.</p>" for _ in range(6))
    html = (
        f"<title>{words(random, 3)} - {of_site}</title><body><nav><ul>{menu}</ul></nav><main><h1>"
        f"{words(random, 3)}</h1>{text}</main><footer>All rights of site {of_site} reserved."
    )
    return f"{host}/{number}.html", html


def run_memory(counts: list[int]) -> bool:
    """Print the memory after so many pages of many sites, in turn; whether it is flat."""
    templates: SiteTemplates[int] = SiteTemplates(wanted=TEXT)
    found, evidence, done, start = 0, 0, 0, process_time()
    sizes: list[float] = []
    print(f"Pages of {SITES:,} sites, which come in turn; in one process")
    for number in range(max(counts)):
        for each in templates.add(*small_page(number % SITES, number // SITES), number):
            found += 1
            evidence += each.template.evidence
        if number + 1 in counts:
            sizes.append(resident())
            each_ms = (process_time() - start) / (number + 1 - done) * 1000
            print(
                f"  {number + 1:>9,} pages: {sizes[-1]:6.1f} MB; {templates.held:,} held back,"
                f" {evidence / max(found, 1):.2f} pages told about each of the others;"
                f" {each_ms:.2f} ms a page",
                flush=True,
            )
            done, start = number + 1, process_time()
    # Before each site has been met a few times, nothing is compared.
    first = next(
        (size for count, size in zip(sorted(counts), sizes, strict=True) if count >= MET), sizes[-1]
    )
    what = f"memory at the most / at {MET:,} pages or more"
    return report(what, max(sizes) / first, FLAT)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="a folder of HTML pages of one site")
    parser.add_argument("--memory", metavar="N,N", help="strip so many pages of many sites")
    options = parser.parse_args()
    if options.memory:
        raise SystemExit(not run_memory([int(count) for count in options.memory.split(",")]))
    raise SystemExit(not run(options.folder))

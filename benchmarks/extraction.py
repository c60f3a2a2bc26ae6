"""Extracting a template, as a multiple of parsing the key page and the three pages beside it.

With folders of documentation as arguments, ``python -m benchmarks.extraction FOLDER ...`` measures
real pages as well: the four of each folder whose size is nearest to 1 MB.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from benchmarks.read_page import WORDS
from benchmarks.timing import report, side_by_side
from tplspider.template.extract import PageSource, extract_template
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Sequence

SITE = "http://example.org/docs/"
DOCUMENTATION_BOUND = 10
DENSE_BOUND = 20


def words(random: Random, count: int) -> str:
    """That many words."""
    return " ".join(random.choices(WORDS, k=count))


def manual(random: Random, size: int) -> str:
    """A chapter of a manual: a table of contents beside sections of prose, lists and code."""
    page = random.randrange(1000)
    sections = []
    length = number = 0
    while length < size:
        number += 1
        name = f"part-{page}-{number}"
        items = "".join(
            f'<li><p>{words(random, 12)} <code class="literal"><span class="pre">f{i}()</span>'
            f"</code> {words(random, 9)}</p></li>\n"
            for i in range(random.randrange(5))
        )
        prose = "".join(
            f'<p>{words(random, 20)} <a class="reference internal" href="page{link}.html#x{link}">'
            f'<code class="xref"><span class="pre">m{link}</span></code></a>, '
            f"{words(random, 14)} <em>{words(random, 2)}</em> {words(random, 9)}.</p>\n"
            for link in random.choices(range(300), k=3)
        )
        code = "".join(
            f'<span class="n">v{i}</span> <span class="o">=</span> <span class="mi">{number}</span>'
            f' <span class="c1"># {words(random, 3)}</span>\n'
            for i in range(4)
        )
        section = (
            f'<section id="{name}"><h2>{words(random, 4)}<a class="headerlink" href="#{name}"'
            f' title="Permalink">¶</a></h2>\n{prose}<ul class="simple">{items}</ul>'
            f'<div class="highlight"><pre>{code}</pre></div></section>\n'
        )
        sections.append((name, section))
        length += len(section)
    contents = "".join(f'<li><a href="#{name}">{name}</a></li>\n' for name, _ in sections)
    chapters = "".join(
        f'<li class="toctree-l1"><a class="reference" href="page{i}.html">Chapter {i}</a></li>\n'
        for i in range(150)
    )
    return frame(
        f'<div class="sidebar"><ul>{chapters}</ul></div><div class="document"><div class="body">'
        f'<h1>{words(random, 3)}</h1><ul class="contents">{contents}</ul>'
        f"{''.join(section for _, section in sections)}</div></div>"
    )


def members(random: Random, size: int) -> str:
    """The reference of a class: a table of its members, then one block for each."""
    rows = []
    blocks = []
    length = number = 0
    while length < size:
        number += 1
        name = f"{random.choice(WORDS)}{random.choice(WORDS).title()}{number}"
        kind = random.choice(("int", "String", "List", "void"))
        link = f'<a href="#{name}(int)" class="member-name-link">{name}</a>'
        rows.append(
            f'<div class="col-first odd"><code>{kind}</code></div>\n<div class="col-second odd">'
            f'<code>{link}&#8203;(int x, <a href="../util/{kind}.html" title="class in util">'
            f'{kind}</a> y)</code></div>\n<div class="col-last odd"><div class="block">'
            f"{words(random, 12)}.</div></div>\n"
        )
        blocks.append(
            f'<li><section class="detail" id="{name}(int)"><h3>{name}</h3>\n'
            f'<div class="signature"><span class="modifiers">public</span> '
            f'<span class="return-type">{kind}</span> <span class="element-name">{name}</span>'
            f"(int x, {kind} y)</div>\n"
            f'<div class="block">{words(random, 30)} <code>{name}</code> {words(random, 20)}</div>'
            f'\n<dl class="notes"><dt>Parameters:</dt><dd><code>x</code> - {words(random, 8)}</dd>'
            f"<dt>Returns:</dt><dd>{words(random, 9)}</dd><dt>Since:</dt><dd>1.{number % 9}</dd>"
            "</dl></section></li>\n"
        )
        length += len(rows[-1]) + len(blocks[-1])
    return frame(
        f'<main><h1 class="title">Class {words(random, 1)}</h1><section class="method-summary">'
        f'<h2>Method Summary</h2><div class="summary-table">{"".join(rows)}</div></section>'
        f'<section class="method-details"><h2>Method Details</h2><ul>{"".join(blocks)}</ul>'
        "</section></main>"
    )


def frame(content: str) -> str:
    """A page of the documentation, with the menu, the search and the footer of all."""
    menu = "".join(f'<li><a href="/docs/part{i}/">Part {i}</a></li>\n' for i in range(12))
    return (
        '<!DOCTYPE html><html lang="en"><head><title>Documentation</title></head><body>\n'
        f'<nav class="top" role="navigation"><ul>{menu}</ul><form action="/search"><input name="q">'
        f'<button>Go</button></form></nav>\n{content}<footer class="footer"><p>Made by <a href='
        '"http://example.com/">the makers</a>.</p></footer></body></html>'
    )


def flat(random: Random, count: int) -> str:
    """A list, half of its entries the same on all pages."""
    entries = (
        f"<li>item {i} {i}</li>\n" if i % 2 else f"<li>word {random.randrange(10**6)}</li>\n"
        for i in range(count)
    )
    return f"<body><ul>{''.join(entries)}</ul></body>"


def records(random: Random, count: int) -> str:
    """A list of records with a link each."""
    rows = (
        f'<div class="row"><a href="/p/{i if i % 2 else random.randrange(10**6)}">title {i}</a>'
        f"<span>{random.randrange(50)} times</span></div>\n"
        for i in range(count // 3)
    )
    return f"<body><div>{''.join(rows)}</div></body>"


def table(random: Random, count: int) -> str:
    """A table of numbers."""
    rows = (
        "".join(f"<td>{random.randrange(20)} of {random.randrange(20)}</td>\n" for _ in range(9))
        for _ in range(count // 10)
    )
    return f"<body><table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table></body>"


def sections(random: Random, count: int) -> str:
    """Sections of short paragraphs."""
    blocks = (
        f"<section id=s{i}><h2>Title {random.randrange(999)}</h2>"
        + "".join(
            f"<p>Some more words <em>{random.randrange(9999)}</em> here</p>\n" for _ in range(15)
        )
        + "</section>"
        for i in range(count // 32)
    )
    return f"<body>{''.join(blocks)}</body>"


def shuffled(random: Random, count: int) -> str:
    """The same paragraphs on all pages, each time in another order."""
    paragraphs = [f"<p>paragraph {i}</p>\n" for i in range(count)]
    random.shuffle(paragraphs)
    return f"<body><div>{''.join(paragraphs)}</div></body>"


# How to make a page, and its size: in characters, or in elements.
Kind = tuple[Callable[[Random, int], str], int]
DOCUMENTATION: list[Kind] = [(manual, 1_000_000), (members, 1_000_000)]
DENSE: list[Kind] = [
    (flat, 10_000),
    (shuffled, 10_000),
    (flat, 40_000),
    (records, 40_000),
    (table, 40_000),
    (sections, 40_000),
    (shuffled, 40_000),
]


def pages(kind: Callable[[Random, int], str], size: int) -> list[PageSource]:
    """A key page and three pages beside it."""
    return [PageSource(f"{SITE}page{seed}.html", kind(Random(seed), size)) for seed in (1, 2, 3, 4)]


def real_pages(folder: Path) -> list[PageSource]:
    """The four pages of a folder whose size is nearest to 1 MB."""
    files = [path for path in folder.rglob("*.html") if path.is_file()]
    files.sort(key=lambda path: (abs(path.stat().st_size - 1_000_000), path))
    return [
        PageSource(SITE + path.relative_to(folder).as_posix(), path.read_text("utf-8", "replace"))
        for path in files[:4]
    ]


def measure(what: str, sources: Sequence[PageSource], bound: float, rounds: int = 5) -> bool:
    """Print the ratio for one set of pages; whether it holds."""
    key, *others = sources
    assert extract_template(key, others) is not None, what
    parse, extract = side_by_side(
        lambda: [parse_html(source.html) for source in sources],
        lambda: extract_template(key, others),
        rounds=rounds,
    )
    elements = sum(1 for _ in parse_html(key.html).iter("*"))
    name = f"{what}, {len(key.html) // 1000} kB, {elements:,} elements"
    return report(name, extract / parse, bound)


def run(folders: Sequence[Path] = ()) -> bool:
    """Print the ratios; whether all hold."""
    print("Template extraction from four pages, as a multiple of the time to parse them")
    holds = True
    for folder in folders:
        holds &= measure(folder.name, real_pages(folder), DOCUMENTATION_BOUND)
    for kind, size in DOCUMENTATION:
        holds &= measure(kind.__name__, pages(kind, size), DOCUMENTATION_BOUND)
    for kind, size in DENSE:
        holds &= measure(kind.__name__, pages(kind, size), DENSE_BOUND)
    return holds


if __name__ == "__main__":
    raise SystemExit(not run([Path(argument) for argument in sys.argv[1:]]))

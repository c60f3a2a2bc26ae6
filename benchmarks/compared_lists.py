"""Lists of key pages on which two checkouts are compared: over many made-up sites, with templates.

Searches run at the same time, so rows come in any order, and are compared without it.
"""

from __future__ import annotations

import csv
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from benchmarks.compared_commands import BY_ARRIVAL, LAST, Case, case_folder, files_of, told
from tests.support.made_up_sites import made_up_site
from tests.support.many_sites import ManySites

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from benchmarks.checkouts import Checkout
    from benchmarks.compared_rows import Written

    Line = dict[str, Any]

KEYS = 120
SITES = 40
TEMPLATES = 40
STRATEGIES = ("paper", "guided")
SIZES = (2, 3, 4)
OPTIONS = ("url", "n", "strategy", "max_loads")
TOPICS = ("ships", "trains, slow ones", 'so-called "bicycles"', "Größe", "=1+1", "")


def key_lines(server: ManySites) -> list[Line]:
    """A list with the user's columns, some options, and unusual or malformed lines."""
    lines = server.key_pages(KEYS, SITES)
    for place, line in enumerate(lines):
        line["topic"] = TOPICS[place % len(TOPICS)]
    lines[10]["tpl_max_loads"] = 2
    lines[20]["tpl_n"] = "many"
    odd = ["not an address", "", lines[5]["url"], f"{lines[6]['url']}#part", server.url("moved-3")]
    odd += [server.url("swap-4"), server.url("site-5", "/private/terms.html")]
    return [*lines, *({"id": f"odd-{place}", "url": url} for place, url in enumerate(odd))]


def template_lines(server: ManySites) -> list[Line]:
    """Articles, whose menus lead to pages of another kind, and first pages of sites."""
    return [
        {"id": number, "url": server.url(f"site-{number}", path)}
        for number in range(TEMPLATES // 2)
        for path in (made_up_site(number).articles[0], "/")
    ]


def write_list(file: Path, lines: Iterable[Line], checkout: Checkout) -> None:
    """A list in CSV; its options have the names that the checkout has for them."""
    lines = [*lines]
    bare = {name: name.removeprefix("tpl_") for name in _names(lines)}
    columns = {
        name: checkout.renames.get(f"column:{each}", each) if each in OPTIONS else name
        for name, each in bare.items()
    }
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.writer(opened)
        writer.writerow(columns.values())
        writer.writerows([line.get(name, "") for name in columns] for line in lines)


def _names(lines: list[Line]) -> dict[str, None]:
    return {name: None for line in lines for name in line}


def crawl(lines: list[Line], arguments: Line, settings: dict[str, str], side: Checkout) -> Written:
    """What a crawl of a list writes."""
    with case_folder(side) as folder:
        keys = folder / "keys.csv"
        write_list(keys, lines, side)
        out = folder / "out"
        out.mkdir()
        names = {name: out / f"{name}.jl" for name in ("summary", "template")}
        if "template" not in arguments:
            del names["template"]
        command = side.crawl_command({"urls": keys, **arguments, **names}, settings)
        done = side.run([*command, f"-O{out / 'candidates.csv'}"])
        return {**files_of(out), **told(done, side, folder, without=LAST)}


def list_part(stack: ExitStack, options: argparse.Namespace) -> Iterator[Case]:
    """A long list, with both strategies and several sizes."""
    lines = key_lines(server := stack.enter_context(ManySites()))
    title = f"{len(lines)} key pages of {SITES} sites at port {server.port}"
    sizes = SIZES[:1] if options.quick else SIZES
    for strategy, n in product(STRATEGIES, sizes):
        given = {"strategy": strategy, "n": n}
        yield Case(
            f"{title}: strategy={strategy} n={n}",
            partial(crawl, lines, given, {}),
            ordered=False,
            ignored=BY_ARRIVAL,
        )


def templates_part(stack: ExitStack, options: argparse.Namespace) -> Iterator[Case]:
    """Templates, with a witness and without, and as Markdown."""
    lines = template_lines(server := stack.enter_context(ManySites()))
    title = f"{len(lines)} templates of sites at port {server.port}"
    every = [*product(STRATEGIES, (1, 0))]
    for place, (strategy, witness) in enumerate(every[:1] if options.quick else every):
        given = {"strategy": strategy, "witness": witness, "template": True}
        settings = {"TPLSPIDER_MARKDOWN": "True"} if place == 0 else {}
        yield Case(
            f"{title}: strategy={strategy} witness={witness}",
            partial(crawl, lines, given, settings),
            ordered=False,
            ignored=BY_ARRIVAL,
        )

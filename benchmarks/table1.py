"""The paper's Table 1, measured on a corpus of labelled sites; and texts, by the whole site.

    python -m benchmarks.table1 --corpus DIR
    python -m benchmarks.table1 --silver DIR

It needs no internet.
"""

from __future__ import annotations

import argparse
import logging
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.evaluation import tables
from benchmarks.evaluation.choices import CHOICES, COUNTED_LINES
from benchmarks.evaluation.extractors import EXTRACTORS, INSTALL, load_extractors
from benchmarks.evaluation.measure import Plan, measure, measure_texts
from benchmarks.evaluation.plot import draw
from tplspider.search.session import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from benchmarks.evaluation.extractors import Extractor


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for; gives the exit status."""
    parser = _parser()
    opts = parser.parse_args(arguments)
    # A key page that no page tells anything about is counted in the tables.
    logging.getLogger("tplspider.template").setLevel(logging.ERROR)
    try:
        plan = _plan(opts)
        extractors, absent = load_extractors(plan.page_extractors)
        means, rows = (_by_the_whole_site if opts.silver else _by_labels)(plan, extractors)
    except ValueError as error:
        parser.error(str(error))
    if absent:
        print(f"Not installed, so left out: {', '.join(absent)} ({INSTALL})", file=sys.stderr)
    for file, table in ((opts.csv, means), (opts.per_site, rows)):
        if file:
            tables.write_csv(file, table)
    if opts.plot:
        draw(opts.plot, means)
    return 0


def _by_labels(
    plan: Plan, extractors: dict[str, Extractor]
) -> tuple[list[tables.Row], list[tables.Row]]:
    """Measure and print; gives the means, and a row for each site."""
    results, texts = measure(plan, extractors)
    means = tables.label_rows(results)
    print(tables.table_1(means))
    if texts:
        print(f"\nThe main text of the key page, ours with n={plan.text_size}:\n")
        print(tables.table_of_texts(texts))
    return means, tables.site_rows(results)


def _by_the_whole_site(
    plan: Plan, extractors: dict[str, Extractor]
) -> tuple[list[tables.Row], list[tables.Row]]:
    """Measure and print; gives the means, and a row for each key page."""
    results = measure_texts(plan, extractors)
    means = tables.silver_rows(results)
    print(tables.silver_table(means))
    return means, tables.key_page_rows(results)


def _plan(opts: argparse.Namespace) -> Plan:
    """What to measure; ValueError if that cannot be, or not be written in the end."""
    corpus = opts.silver or opts.corpus
    if not corpus.is_dir():
        raise ValueError(f"{corpus}: there is no such folder")
    if opts.plot and opts.silver:
        raise ValueError("--plot: there is nothing to draw with --silver")
    if opts.plot and find_spec("matplotlib") is None:
        raise ValueError("--plot needs matplotlib: pip install matplotlib")
    strategies = opts.strategies or (list(STRATEGIES) if opts.silver else ["all"])
    known = [*EXTRACTORS, *([] if opts.silver else [COUNTED_LINES])]
    return Plan(
        corpus,
        opts.sizes,
        _named("--strategies", strategies, CHOICES),
        () if opts.extractors == ["none"] else _named("--extractors", opts.extractors, known),
        opts.max_loads,
        witness=opts.witness,
        sites=tuple(opts.sites),
    )


def _named(option: str, names: list[str], known: Iterable[str]) -> tuple[str, ...]:
    if names == ["all"]:
        return tuple(known)
    for name in names:
        if name not in known:
            raise ValueError(f"{option}: unknown {name!r}, expected some of {', '.join(known)}")
    return tuple(dict.fromkeys(names))


def _names(text: str) -> list[str]:
    return [name for each in text.split(",") if (name := each.strip())]


def _sizes(text: str) -> tuple[int, ...]:
    """The sizes that a list of numbers and ranges stands for: 1-3,8 is 1, 2, 3, 8."""
    sizes: dict[int, None] = {}
    for part in text.split(","):
        found = re.fullmatch(r"([0-9]{1,4})(?:-([0-9]{1,4}))?", part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last:
            raise argparse.ArgumentTypeError("expected numbers from 1 on, like 3, 1-8 or 1,3,5")
        sizes |= dict.fromkeys(range(first, last + 1))
    return tuple(sizes)


def _loads(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        raise argparse.ArgumentTypeError("expected a whole number, 0 for no limit")
    return int(text)


def _file(*endings: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        path = Path(text)
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise argparse.ArgumentTypeError("there is no such folder to write a file in")
        if endings and path.suffix.lower() not in endings:
            raise argparse.ArgumentTypeError(f"expected a file that ends in {' or '.join(endings)}")
        return text

    return check


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.table1",
        description="Measure search and extraction on saved sites.",
    )
    one = parser.add_mutually_exclusive_group(required=True).add_argument
    one("--corpus", metavar="DIR", type=Path, help="a folder with a folder for each labelled site")
    one("--silver", metavar="DIR", type=Path, help="or: sites without labels")
    add = parser.add_argument
    add("--sites", metavar="NAMES", type=_names, default=[], help="sites to take (default all)")
    add("--sizes", metavar="N", type=_sizes, default=(3,), help="of the CS: 3, 1-8 or 1,3,5")
    add(
        "--strategies",
        metavar="NAMES",
        type=_names,
        help="strategies and baselines (default all; with --silver, the searches)",
    )
    add(
        "--extractors",
        metavar="NAMES",
        type=_names,
        default=["all"],
        help="extractors of texts to measure beside ours, or none (default all)",
    )
    add("--max-loads", metavar="N", type=_loads, default=100, help="of a search (default 100)")
    add("--witness", type=int, choices=[0, 1], default=1, help="pages to load on top (default 1)")
    add("--csv", metavar="FILE", type=_file(), help="write the means to FILE")
    add("--per-site", metavar="FILE", type=_file(), help="write a row for each site or key page")
    add(
        "--plot", metavar="FILE", type=_file(".svg", ".png"), help="draw F1 and loads, .svg or .png"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())

"""What to measure, as the command line says it, checked before anything is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.evaluation.counted_lines import COUNTED_LINES
from benchmarks.evaluation.labelled_site import CorpusError
from benchmarks.evaluation.page_choice import CHOICES, POOLS
from benchmarks.evaluation.text_extractors import EXTRACTORS
from tplspider.search.session import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Iterable

_SIZES = re.compile(r"([0-9]{1,4})(?:-([0-9]{1,4}))?")


@dataclass(frozen=True)
class Plan:
    """A corpus, and what to measure on it."""

    corpus: Path
    sizes: tuple[int, ...]
    strategies: tuple[str, ...]
    extractors: tuple[str, ...]  # of texts; none means that texts are not measured
    max_loads: int
    witness: int = 1  # pages that may be loaded on top
    sites: tuple[str, ...] = ()  # to take; all, if none is named
    is_labelled: bool = True  # or text is judged by the whole site

    @property
    def searches(self) -> tuple[str, ...]:
        """Of those asked for, the ones whose texts are measured; the paper's if none is."""
        with_texts = {*STRATEGIES, *POOLS}
        return tuple(name for name in self.strategies if name in with_texts) or ("paper",)

    @property
    def page_extractors(self) -> tuple[str, ...]:
        """The extractors that look at one page alone."""
        return tuple(name for name in self.extractors if name != COUNTED_LINES)

    def check_sites(self, names: Iterable[str]) -> None:
        """Whether these are all of the sites to take; CorpusError if not."""
        known = {*names}
        for name in self.sites:
            if name not in known:
                raise CorpusError(f"--sites: there is no site {name!r} in {self.corpus}")

    @property
    def text_size(self) -> int:
        """The size of the CS whose template leaves the text that is measured: 3 if it may be."""
        return 3 if 3 in self.sizes else self.sizes[0]


def make_plan(
    *,
    corpus: str | None,
    silver: str | None,
    sites: str,
    sizes: str,
    strategies: str | None,
    extractors: str,
    max_loads: str,
    witness: str,
) -> Plan:
    """The plan that these options stand for; ValueError, with one line that says what is wrong."""
    if corpus and silver:
        raise CorpusError("--corpus and --silver: give one of them")
    option, name = ("--silver", silver) if silver else ("--corpus", corpus)
    if not name:
        raise CorpusError("no corpus: give its folder with --corpus DIR or --silver DIR")
    folder = Path(name)
    if not folder.is_dir():
        raise CorpusError(f"{option} {name}: there is no such folder")
    if not re.fullmatch(r"[0-9]{1,9}", max_loads, re.ASCII):
        raise ValueError(f"--max-loads {max_loads}: expected a whole number, 0 for no limit")
    if witness not in ("0", "1"):
        raise ValueError(f"--witness {witness}: expected 0 or 1")
    chosen = strategies or (",".join(STRATEGIES) if silver else "all")
    known = (*EXTRACTORS, *(() if silver else (COUNTED_LINES,)))
    return Plan(
        folder,
        parse_sizes(sizes),
        _names("--strategies", chosen, CHOICES),
        () if extractors == "none" else _names("--extractors", extractors, known),
        int(max_loads),
        witness=int(witness),
        sites=tuple(filter(None, (site.strip() for site in sites.split(",")))),
        is_labelled=not silver,
    )


def parse_sizes(text: str) -> tuple[int, ...]:
    """The sizes that a list of numbers and ranges stands for.

    >>> parse_sizes("3"), parse_sizes("1-3,8")
    ((3,), (1, 2, 3, 8))
    """
    sizes: dict[int, None] = {}
    for part in text.split(","):
        found = _SIZES.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= first <= last:
            raise ValueError(f"--sizes {text}: expected numbers from 1 on, like 3, 1-8 or 1,3,5")
        sizes |= dict.fromkeys(range(first, last + 1))
    return tuple(sizes)


def check_files(plan: Plan, *, plot: str | None, tables: Iterable[str | None]) -> None:
    """Whether what is measured could be written in the end; ValueError if not."""
    if plot and not plan.is_labelled:
        raise ValueError("--plot: there is nothing to draw with --silver")
    for name in (plot, *tables):
        if name and (Path(name).is_dir() or not Path(name).absolute().parent.is_dir()):
            raise ValueError(f"{name}: there is no such folder to write a file in")
    if not plot:
        return
    if Path(plot).suffix.lower() not in (".svg", ".png"):
        raise ValueError(f"--plot {plot}: expected a file that ends in .svg or .png")
    try:
        import_module("matplotlib")
    except ImportError:
        raise ValueError("--plot needs matplotlib: pip install matplotlib") from None


def _names(option: str, text: str, known: Iterable[str]) -> tuple[str, ...]:
    known = tuple(known)
    if text == "all":
        return known
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",")))
    for name in names:
        if name not in known:
            raise ValueError(f"{option}: unknown {name!r}, expected some of {', '.join(known)}")
    return names

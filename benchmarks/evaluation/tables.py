"""The measurements as tables: on paper, with the published figures, and as CSV, without them."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.evaluation.published import TABLE_1
from benchmarks.evaluation.scores import mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.evaluation.measure import SiteResult
    from benchmarks.evaluation.scores import Score

_COLUMNS = "strategy size sites recall precision f1 loads complete all_loads".split()
_SITE_COLUMNS = (
    "strategy size site recall precision f1 loads cs_size complete"
    " reason elements template found pages all_loads".split()
)


@dataclass(frozen=True, slots=True)
class MeanRow:
    """The means over all sites of what was measured on each; *all_loads* with the witness."""

    strategy: str
    size: int
    sites: int
    recall: float
    precision: float
    f1: float
    loads: float
    complete: int
    all_loads: float


def mean_rows(results: Iterable[SiteResult]) -> list[MeanRow]:
    """One row for each strategy and size, in the order they were asked for."""
    groups: dict[tuple[str, int], list[SiteResult]] = {}
    for result in results:
        groups.setdefault((result.strategy, result.size), []).append(result)
    return [
        MeanRow(
            strategy,
            size,
            len(group),
            recall=mean([result.score.recall for result in group]),
            precision=mean([result.score.precision for result in group]),
            f1=mean([result.score.f1 for result in group]),
            loads=mean([result.choice.loads for result in group]),
            complete=sum(result.complete for result in group),
            all_loads=mean([result.choice.all_loads for result in group]),
        )
        for (strategy, size), group in groups.items()
    ]


def write_means(file: str, rows: Iterable[MeanRow]) -> None:
    """The means as CSV."""
    write_csv(
        file,
        _COLUMNS,
        (
            [row.strategy, row.size, row.sites]
            + [f"{share:.6f}" for share in (row.recall, row.precision, row.f1)]
            + [f"{row.loads:.4f}", row.complete, f"{row.all_loads:.4f}"]
            for row in rows
        ),
    )


def write_sites(file: str, results: Iterable[SiteResult]) -> None:
    """What was measured on each site as CSV; ``pages`` to compare with are separated by spaces."""
    write_csv(
        file,
        _SITE_COLUMNS,
        (
            [result.strategy, result.size, result.site]
            + [f"{s:.6f}" for s in (result.score.recall, result.score.precision, result.score.f1)]
            + [result.choice.loads, result.choice.found, int(result.complete)]
            + [result.choice.reason, result.elements, result.template, result.found]
            + [" ".join(result.choice.pages), result.choice.all_loads]
            for result in results
        ),
    )


def table_1(rows: Sequence[MeanRow]) -> str:
    """The paper's Table 1 as measured, each row beside the published one; shares in percent."""
    lines = [
        ["strategy", "size", "recall", "precision", "F1", "loads", "+witness", "complete", "|"]
    ]
    lines[0] += ["recall", "precision", "F1", "loads"]
    for row in rows:
        shares = [f"{100 * share:.2f}" for share in (row.recall, row.precision, row.f1)]
        line = [row.strategy, str(row.size), *shares, f"{row.loads:.2f}", f"{row.all_loads:.2f}"]
        line += [f"{row.complete}/{row.sites}", "|"]
        published = TABLE_1.get(row.size)
        lines.append(line + ([f"{figure:.2f}" for figure in published] if published else [""] * 4))
    text = layout(lines)
    ours, theirs = "measured here", "published (40 other sites)"
    return f"{ours:<{text.index('|')}}| {theirs}\n{text}"


def table_of_texts(texts: Mapping[str, Mapping[str, Score]]) -> str:
    """The means of the texts' scores over the sites, for each of them; shares in percent."""
    lines = [["text", "sites", "recall", "precision", "F1"]]
    for name, by_site in texts.items():
        scores = list(by_site.values())
        means = (
            mean([score.recall for score in scores]),
            mean([score.precision for score in scores]),
            mean([score.f1 for score in scores]),
        )
        lines.append([name, str(len(scores)), *(f"{100 * share:.2f}" for share in means)])
    return layout(lines)


def layout(lines: list[list[str]]) -> str:
    """Columns of the same width: the first one to the left, figures to the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = [
        "|" if set(column) == {"|"} else "-" * width
        for column, width in zip(zip(*lines, strict=True), widths, strict=True)
    ]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in (lines[0], rule, *lines[1:])
    )


def write_csv(file: str, columns: list[str], rows: Iterable[list[object]]) -> None:
    """Write a table to a file."""
    with Path(file).open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)

"""The measurements as tables: on paper, with the published figures, and as CSV, without them."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.evaluation.scores import mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from benchmarks.evaluation.measure import SiteResult, TextResult
    from benchmarks.evaluation.scores import Score

# Table 1 of the paper: averages over 40 websites of its own, by the size of the CS. Recall,
# precision and F1 in percent, and loads.
PUBLISHED = {
    1: (88.56, 94.89, 88.69, 2),
    2: (96.34, 90.32, 91.93, 5.6),
    3: (95.44, 96.35, 95.61, 10.13),
    4: (94.61, 96.88, 95.27, 16.52),
    5: (94.69, 96.96, 95.40, 18.68),
    6: (95.21, 96.82, 95.69, 23.68),
    7: (95.46, 96.31, 95.57, 30),
    8: (95.14, 96.57, 95.54, 32.08),
}
_LOADS = ("loads", "all_loads")  # means of them have four digits, shares six

Row = dict[str, Any]  # a value for each column; None for none


def label_rows(results: Iterable[SiteResult]) -> list[Row]:
    """The means over all sites, for each strategy and size in the order they were asked for."""
    groups: dict[tuple[str, int], list[SiteResult]] = {}
    for result in results:
        groups.setdefault((result.strategy, result.size), []).append(result)
    return [
        {
            "strategy": strategy,
            "size": size,
            "sites": len(group),
            "recall": mean([result.score.recall for result in group]),
            "precision": mean([result.score.precision for result in group]),
            "f1": mean([result.score.f1 for result in group]),
            "loads": mean([result.choice.loads for result in group]),
            "complete": sum(result.complete for result in group),
            "all_loads": mean([result.choice.all_loads for result in group]),
        }
        for (strategy, size), group in groups.items()
    ]


def site_rows(results: Iterable[SiteResult]) -> list[Row]:
    """What was measured on each site; ``pages`` to compare with are separated by spaces."""
    return [
        {
            "strategy": result.strategy,
            "size": result.size,
            "site": result.site,
            "recall": result.score.recall,
            "precision": result.score.precision,
            "f1": result.score.f1,
            "loads": result.choice.loads,
            "cs_size": result.choice.found,
            "complete": int(result.complete),
            "reason": result.choice.reason,
            "elements": result.elements,
            "template": result.template,
            "found": result.found,
            "pages": " ".join(result.choice.pages),
            "all_loads": result.choice.all_loads,
        }
        for result in results
    ]


def silver_rows(results: Iterable[TextResult]) -> list[Row]:
    """The means over the key pages that are sound and have enough text for a share of it.

    ``lost_pages`` and ``left_pages`` are how many that are. Of those ``alone`` no other page told
    anything: what is given is the text of a page by itself.
    """
    groups: dict[tuple[str, int], list[TextResult]] = {}
    for result in results:
        group = groups.setdefault((result.text.whose, result.text.size), [])
        group += [result] if result.sound else []
    rows: list[Row] = []
    for (whose, size), group in groups.items():
        lost = [share for result in group if (share := result.score.lost) is not None]
        left = [share for result in group if (share := result.score.left) is not None]
        rows.append(
            {
                "text": whose,
                "size": size or None,
                "key_pages": len(group),
                "loads": mean([result.text.loads for result in group]),
                "all_loads": mean([result.text.all_loads for result in group]),
                "lost": mean(lost) if lost else None,
                "lost_pages": len(lost),
                "left": mean(left) if left else None,
                "left_pages": len(left),
                "alone": sum(result.text.evidence == 0 for result in group) if size else None,
            }
        )
    return rows


def key_page_rows(results: Iterable[TextResult]) -> list[Row]:
    """What was measured on each key page; sizes are in letters and digits."""
    return [
        {
            "text": result.text.whose,
            "size": result.text.size or None,
            "site": result.site,
            "key_page": result.key_page,
            "sound": int(result.sound),
            "lost": result.score.lost,
            "left": result.score.left,
            "own": result.score.own,
            "own_kept": round(result.score.own_kept),
            "boilerplate": result.score.boilerplate,
            "boilerplate_kept": round(result.score.boilerplate_kept),
            "loads": result.text.loads,
            "all_loads": result.text.all_loads,
            "evidence": result.text.evidence,
        }
        for result in results
    ]


def table_1(rows: Sequence[Row]) -> str:
    """The paper's Table 1 as measured, each row beside the published one; shares in percent."""
    lines = ["strategy size recall precision F1 loads +witness complete |".split()]
    lines[0] += ["recall", "precision", "F1", "loads"]
    for row in rows:
        shares = [_percent(row[name]) for name in ("recall", "precision", "f1")]
        line = [row["strategy"], str(row["size"]), *shares]
        line += [f"{row[name]:.2f}" for name in _LOADS]
        line += [f"{row['complete']}/{row['sites']}", "|"]
        published = PUBLISHED.get(row["size"])
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
        lines.append([name, str(len(scores)), *map(_percent, means)])
    return layout(lines)


def silver_table(rows: Sequence[Row]) -> str:
    """The means, each with the number of key pages behind it; shares in percent."""
    lines = [
        ["text", "size", "key pages", "loads", "+witness", "lost", "of", "left", "of", "alone"]
    ]
    for row in rows:
        line = [row["text"], row["size"], row["key_pages"]]
        line += [f"{row[name]:.2f}" for name in _LOADS]
        for share in ("lost", "left"):
            line += ["-" if row[share] is None else _percent(row[share]), row[f"{share}_pages"]]
        lines.append(["" if each is None else str(each) for each in [*line, row["alone"]]])
    return (
        "Judged by the whole site: own text that was lost, boilerplate that was left, in percent,\n"
        "and the key pages behind each mean; alone are those that no page told anything about.\n"
        f"\n{layout(lines)}"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"


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


def write_csv(file: str, rows: Sequence[Row]) -> None:
    """Write a table to a file."""
    with Path(file).open("w", encoding="utf-8", newline="") as lines:
        writer = csv.DictWriter(lines, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        for row in rows:
            writer.writerow({name: _cell(name, value) for name, value in row.items()})


def _cell(name: str, value: object) -> object:
    if not isinstance(value, float):
        return value  # None is an empty cell
    return f"{value:.4f}" if name in _LOADS else f"{value:.6f}"

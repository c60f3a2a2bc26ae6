"""What was measured on sites without labels, as tables: on paper and as CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.evaluation.scores import mean
from benchmarks.evaluation.tables import layout, write_csv

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from benchmarks.evaluation.measure_silver import TextResult

_COLUMNS = "text size key_pages loads all_loads lost lost_pages left left_pages alone".split()
_KEY_PAGE_COLUMNS = (
    "text size site key_page sound lost left own own_kept boilerplate boilerplate_kept"
    " loads all_loads evidence".split()
)


@dataclass(frozen=True, slots=True)
class SilverRow:
    """The means over the key pages that are sound and have enough text for a share of it.

    *lost_pages* and *left_pages* are how many that are. Of those *alone* no other page told
    anything: what is given is the text of a page by itself.
    """

    text: str
    size: int
    key_pages: int
    loads: float
    all_loads: float
    lost: float
    lost_pages: int
    left: float
    left_pages: int
    alone: int = 0


def mean_rows(results: Iterable[TextResult]) -> list[SilverRow]:
    """One row for each text and size, in the order they were measured."""
    groups: dict[tuple[str, int], list[TextResult]] = {}
    for result in results:
        group = groups.setdefault((result.text.whose, result.text.size), [])
        if result.sound:
            group.append(result)
    rows = []
    for (whose, size), group in groups.items():
        lost = [share for result in group if (share := result.score.lost) is not None]
        left = [share for result in group if (share := result.score.left) is not None]
        rows.append(
            SilverRow(
                whose,
                size,
                len(group),
                loads=mean([result.text.loads for result in group]),
                all_loads=mean([result.text.all_loads for result in group]),
                lost=mean(lost),
                lost_pages=len(lost),
                left=mean(left),
                left_pages=len(left),
                alone=sum(result.text.evidence == 0 for result in group),
            )
        )
    return rows


def table_of_texts(rows: Sequence[SilverRow]) -> str:
    """The means, each with the number of key pages behind it; shares in percent."""
    lines = [
        ["text", "size", "key pages", "loads", "+witness", "lost", "of", "left", "of", "alone"]
    ]
    for row in rows:
        size = str(row.size) if row.size else ""
        loads = [f"{row.loads:.2f}", f"{row.all_loads:.2f}"]
        lost = [f"{100 * row.lost:.2f}" if row.lost_pages else "-", str(row.lost_pages)]
        left = [f"{100 * row.left:.2f}" if row.left_pages else "-", str(row.left_pages)]
        alone = str(row.alone) if row.size else ""
        lines.append([row.text, size, str(row.key_pages), *loads, *lost, *left, alone])
    return (
        "Judged by the whole site: own text that was lost, boilerplate that was left, in percent,\n"
        "and the key pages behind each mean; alone are those that no page told anything about.\n"
        f"\n{layout(lines)}"
    )


def write_means(file: str, rows: Iterable[SilverRow]) -> None:
    """The means as CSV."""
    write_csv(
        file,
        _COLUMNS,
        (
            [
                *(row.text, row.size or "", row.key_pages),
                *(f"{row.loads:.4f}", f"{row.all_loads:.4f}"),
                *(_share(row.lost if row.lost_pages else None), row.lost_pages),
                *(_share(row.left if row.left_pages else None), row.left_pages),
                row.alone if row.size else "",
            ]
            for row in rows
        ),
    )


def write_key_pages(file: str, results: Iterable[TextResult]) -> None:
    """What was measured on each key page as CSV; sizes are in letters and digits."""
    write_csv(
        file,
        _KEY_PAGE_COLUMNS,
        (
            [
                *(result.text.whose, result.text.size or "", result.site, result.key_page),
                *(int(result.sound), _share(result.score.lost), _share(result.score.left)),
                *(result.score.own, round(result.score.own_kept)),
                *(result.score.boilerplate, round(result.score.boilerplate_kept)),
                *(result.text.loads, result.text.all_loads),
                "" if result.text.evidence is None else result.text.evidence,
            ]
            for result in results
        ),
    )


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"

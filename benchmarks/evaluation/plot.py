"""F1 and loads against the size of the CS, drawn with matplotlib where it is installed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tplspider.search.session import STRATEGIES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.evaluation.tables import Row

# Okabe and Ito's colours, which people with any colour vision can tell apart.
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
_MARKERS = "osD^vPX*"
_STYLE = {
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "table1",  # the same figures give the same file
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
}


def draw(file: str, rows: Sequence[Row]) -> None:
    """Two panels, a line for each strategy; SVG or PNG by the file's ending."""
    matplotlib: Any = import_module("matplotlib")
    figures: Any = import_module("matplotlib.figure")
    ticker: Any = import_module("matplotlib.ticker")
    sizes = sorted({row["size"] for row in rows})
    with matplotlib.rc_context(_STYLE):
        figure = figures.Figure(figsize=(10, 5), layout="constrained")
        left, right = figure.subplots(1, 2)
        for place, strategy in enumerate(dict.fromkeys(row["strategy"] for row in rows)):
            own = sorted(
                (row for row in rows if row["strategy"] == strategy), key=lambda r: r["size"]
            )
            look = _look(place, strategy)
            left.plot([row["size"] for row in own], [100 * row["f1"] for row in own], **look)
            right.plot([row["size"] for row in own], [row["all_loads"] for row in own], **look)
        _spread_out(left, min(100 * row["f1"] for row in rows))
        left.set_title("F1 in percent, high values spread out", loc="left")
        right.set_title("Pages loaded, key page and witness included", loc="left")
        right.set_yscale("log")
        right.set_ylim(bottom=min(1.8, *(0.9 * row["all_loads"] or 1.8 for row in rows)))
        right.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        right.yaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        right.yaxis.set_minor_locator(ticker.NullLocator())
        for panel in (left, right):
            panel.set_xlabel("n, the size of the complete subdigraph")
            panel.set_xlim(sizes[0] - 0.5, sizes[-1] + 0.5)
            panel.xaxis.set_major_locator(
                ticker.FixedLocator(sizes) if len(sizes) < 15 else ticker.MaxNLocator(integer=True)
            )
        lines = left.get_legend_handles_labels()
        figure.legend(*lines, loc="outside lower center", ncols=6, frameon=False)
        figure.suptitle(f"Templates found, means over {rows[0]['sites']} sites")
        undated = {"Date": None} if file.lower().endswith(".svg") else {}
        figure.savefig(file, dpi=150, metadata=undated)


def _look(place: int, strategy: str) -> dict[str, object]:
    """How a strategy's line looks: searches stand before the baselines, which are dashed."""
    is_search = strategy in STRATEGIES
    return {
        "label": strategy,
        "color": _COLOURS[place % len(_COLOURS)],
        "marker": _MARKERS[place % len(_MARKERS)],
        "markeredgecolor": "white",
        "markeredgewidth": 0.6,
        "markersize": 7,
        "linestyle": "-" if is_search else "--",
        "linewidth": 2.2 if is_search else 1.2,
        "zorder": 4 if is_search else 3,
    }


def _spread_out(panel: Any, lowest: float) -> None:
    """An axis with as much room from 98 to 99 as from 50 to 80: good strategies differ up there."""
    numpy: Any = import_module("numpy")

    def place(percent: Any) -> Any:
        return -numpy.log(101 - numpy.minimum(percent, 100))

    def percent(place: Any) -> Any:
        return 101 - numpy.exp(-place)

    panel.set_yscale("function", functions=(place, percent))
    ticks = [0, 50, 80, 90, 94, 96, 97, 98, 99, 100]
    bottom = max((tick for tick in ticks[:-3] if tick <= lowest), default=0)
    panel.set_yticks([tick for tick in ticks if tick >= bottom])
    panel.set_ylim(bottom, 100)

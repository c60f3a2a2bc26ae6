"""What a drawing is made of: pages, the lines between them, and the words beside them."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import hypot
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    Point = tuple[float, float]

WIDTH = 960
_STEPS = 24  # points of a line that are looked at
_CLEAR = 8  # units between a line and a page that it passes, its ring included
_ASIDE = 24  # how far the line of a missing link is bent
_ROUND = (40, 70, 110, 160, 220, 290)  # how far others are, to go round a page
_MOST_OUTWARD = 70  # farther out, a line looks as if it went astray


@dataclass(frozen=True, slots=True)
class Label:
    """Words beside a page, from their *x*: its start, middle or end, as *anchor* says."""

    text: str
    x: float
    y: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Node:
    """A page: its rank (0 for the key page) and where it is."""

    rank: int
    x: float
    y: float
    radius: int
    kind: str  # key, member or other
    links: str = ""  # ranks of the pages it links to, as ranges, where they are not drawn
    label: Label | None = None  # None where there is no room for words


@dataclass(frozen=True, slots=True)
class Line:
    """A line between two pages; one-way lines and missing links go from *source* to *target*."""

    source: int
    target: int
    kind: str  # answer, mutual, one-way or missing: the legend has each that is drawn
    start: Point
    bend: Point | None  # where a curve is drawn to; None for a straight line
    end: Point

    @property
    def path(self) -> str:
        (x1, y1), (x2, y2) = self.start, self.end
        way = f"Q{self.bend[0]:.1f} {self.bend[1]:.1f} " if self.bend else "L"
        return f"M{x1:.1f} {y1:.1f}{way}{x2:.1f} {y2:.1f}"

    @property
    def middle(self) -> Point:
        """Where the sign of a missing link is."""
        x, y = self._at(0.5)
        return round(x, 1), round(y, 1)

    def points(self, steps: int = _STEPS) -> Iterator[Point]:
        """Some points of it, without its ends."""
        return (self._at(step / steps) for step in range(1, steps))

    def _at(self, t: float) -> Point:
        (x1, y1), (x2, y2) = self.start, self.end
        x, y = self.bend or ((x1 + x2) / 2, (y1 + y2) / 2)
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t**2
        return a * x1 + b * x + c * x2, a * y1 + b * y + c * y2


@dataclass(frozen=True, slots=True)
class Drawing:
    """Nodes and lines in a picture of so many units, from *left*.

    *whole* if no link is left out; *heads* if the lines of the answer have heads.
    """

    height: float
    nodes: list[Node] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    whole: bool = True
    left: float = 0
    width: float = WIDTH
    heads: bool = True

    @property
    def kinds(self) -> set[str]:
        """The kinds of line that are in it."""
        return {line.kind for line in self.lines}


def line_between(places: dict[int, Node], source: int, target: int, kind: str) -> Line:
    """A line from the edge of one node to that of another; round those that are in its way."""
    start, end = places[source], places[target]
    dx, dy = end.x - start.x, end.y - start.y
    length = hypot(dx, dy) or 1
    dx, dy = dx / length, dy / length
    first, last = start.radius + 6, length - end.radius - 6
    x1, y1 = start.x + dx * first, start.y + dy * first
    x2, y2 = start.x + dx * last, start.y + dy * last
    others = [node for node in places.values() if node.rank not in (source, target)]
    x, y = (x1 + x2) / 2, (y1 + y2) / 2
    inward = 1 if -dy * (WIDTH / 2 - x) + dx * (_middle(places.values()) - y) >= 0 else -1
    # Beside a missing link, that of the other way may be there.
    bends = (_ASIDE, -_ASIDE) if kind == "missing" else (0,)
    sides = [
        side * bend for bend in _ROUND for side in (1, -1) if side > 0 or bend <= _MOST_OUTWARD
    ]
    rounds = [inward * bend for bend in sides]
    for bend in (*bends, *rounds, bends[0]):
        line = Line(
            *(source, target, kind, (x1, y1)),
            *((x - dy * bend, y + dx * bend) if bend else None, (x2, y2)),
        )
        if _is_free(line, others):
            break
    return line


def _middle(nodes: Iterable[Node]) -> float:
    heights = [node.y for node in nodes]
    return (min(heights) + max(heights)) / 2


def _is_free(line: Line, nodes: list[Node]) -> bool:
    """Whether a line runs over no node."""
    return not any(
        hypot(node.x - x, node.y - y) < node.radius + _CLEAR
        for x, y in line.points()
        for node in nodes
    )

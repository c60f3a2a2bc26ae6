"""The topology of a search as a drawing: where its pages are, and the lines between them.

The pages stand on two rings, the answer inside. Of more than forty pages, the answer and those
nearest to it are drawn: all of them would be a grey blot.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import cos, hypot, pi, sin
from typing import TYPE_CHECKING

from tplspider.report.model import KEY, Report

if TYPE_CHECKING:
    from collections.abc import Iterator

    Point = tuple[float, float]

MOST_PAGES = 40  # in a drawing, and in the table of who links to whom
MOST_NEAR = 3  # pages whose missing links are drawn
NEAR = 2  # links that such a page may lack
WIDTH = 960
_MOST_HEADS = 12  # pages of the answer, up to which its lines have heads
_RADIUS, _SMALL = 20, 17
_MARGIN = 40
_STEPS = 24  # points of a line that are looked at
_CLEAR = 8  # units between a line and a page that it passes
_ASIDE = 24  # how far the line of a missing link is bent
_ROUND = (40, -40, 70, -70, 110, 160, 220, 290)  # how far others are bent, to go round a page


@dataclass(frozen=True, slots=True)
class Node:
    """A page: its rank (0 for the key page) and where it is."""

    rank: int
    x: float
    y: float
    radius: int
    kind: str  # key, member or other


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

    def points(self) -> Iterator[Point]:
        """Some points of it, without its ends."""
        return (self._at(step / _STEPS) for step in range(1, _STEPS))

    def _at(self, t: float) -> Point:
        (x1, y1), (x2, y2) = self.start, self.end
        x, y = self.bend or ((x1 + x2) / 2, (y1 + y2) / 2)
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t**2
        return a * x1 + b * x + c * x2, a * y1 + b * y + c * y2


@dataclass(frozen=True, slots=True)
class Drawing:
    """Nodes and lines in a picture of so many units, from *left*.

    *heads* if the lines of the answer have heads.
    """

    nodes: list[Node]
    lines: list[Line]
    left: int = 0
    width: int = WIDTH
    height: int = 0
    heads: bool = True

    @property
    def kinds(self) -> set[str]:
        """The kinds of line that are in it."""
        return {line.kind for line in self.lines}


def draw(report: Report) -> Drawing:
    """The drawing of a search; without nodes if no page was explored."""
    shown = shown_pages(report)
    if not shown:
        return Drawing([], [])
    nodes = _on_rings(report, shown)
    places = {node.rank: node for node in nodes}
    lines = [*_links(report, places), *_missing(report, places)]
    left, right, height = _extent(nodes, lines)
    left = max(0.0, min(left, WIDTH - right))
    heads = len(report.members) <= _MOST_HEADS
    return Drawing(nodes, lines, round(left), round(WIDTH - 2 * left), round(height), heads)


def shown_pages(report: Report) -> list[int]:
    """The pages that are drawn, by rank: all, or of many the answer and those nearest to it."""
    if len(report.pages) <= MOST_PAGES:
        return report.pages
    near = nearest(report) or report.pages
    return sorted([*report.members, *near][:MOST_PAGES])


def nearest(report: Report) -> list[int]:
    """The pages that are not part of the answer, by the number of links that they lack to be."""
    if not report.members:
        return []
    lacking = {rank: len(report.missing(rank)) for rank in report.pages}
    near = [rank for rank in lacking if lacking[rank] and rank not in report.members]
    return sorted(near, key=lambda rank: (lacking[rank], rank))


def near_pages(report: Report) -> list[tuple[int, list[tuple[int, int]]]]:
    """The pages that lack so few links to be part of the answer that these are drawn and listed."""
    lacking = [(rank, report.missing(rank)) for rank in nearest(report)[:MOST_NEAR]]
    return [near for near in lacking if len(near[1]) <= NEAR]


def _on_rings(report: Report, shown: list[int]) -> list[Node]:
    inside = [rank for rank in report.members if rank in shown]
    outside = [KEY, *(rank for rank in shown if rank not in inside)]
    inner = 0 if len(inside) == 1 else max(85.0, 56 * len(inside) / (2 * pi))
    outer = max(inner + (95 if len(inside) < 20 else 120), 60 * len(outside) / (2 * pi), 190.0)
    middle = outer + 50
    wide = min(1.35, (WIDTH / 2 - 90) / outer) if len(shown) > 3 else 1.2
    radius = _RADIUS if len(shown) <= 24 else _SMALL
    nodes = []
    for ring, size in ((outside, outer), (inside, inner)):
        # The key page is at the top: pages of the answer beside its line down, not below it.
        first = pi / max(len(ring), 1) if ring is inside else 0
        for place, rank in enumerate(ring):  # clockwise
            turn = 2 * pi * place / len(ring) - pi / 2 + first
            x, y = WIDTH / 2 + wide * size * cos(turn), middle + size * sin(turn)
            kind = "key" if rank == KEY else "member" if ring is inside else "other"
            nodes.append(Node(rank, round(x, 1), round(y, 1), radius, kind))
    return sorted(nodes, key=lambda node: node.rank)


def _links(report: Report, places: dict[int, Node]) -> Iterator[Line]:
    """The links among some pages; two that link to each other have one line."""
    for one, other in combinations(places, 2):
        forth, back = other in report.links[one], one in report.links[other]
        if not forth and not back:
            continue
        in_answer = one in report.members and other in report.members
        source, target = (one, other) if forth else (other, one)
        kind = "answer" if in_answer else "mutual" if forth and back else "one-way"
        yield _line_between(places, source, target, kind)


def _missing(report: Report, places: dict[int, Node]) -> Iterator[Line]:
    """The links that the nearest pages lack."""
    for _, pairs in near_pages(report):
        for source, target in pairs:
            if source in places and target in places:
                yield _line_between(places, source, target, "missing")


def _line_between(places: dict[int, Node], source: int, target: int, kind: str) -> Line:
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
    heights = [node.y for node in places.values()]
    middle = (min(heights) + max(heights)) / 2
    inward = 1 if -dy * (WIDTH / 2 - x) + dx * (middle - y) >= 0 else -1
    # Beside a missing link, that of the other way may be there.
    bends = (_ASIDE, -_ASIDE) if kind == "missing" else (0,)
    for bend in (*bends, *(inward * each for each in _ROUND), bends[0]):
        control = (x - dy * bend, y + dx * bend) if bend else None
        line = Line(source, target, kind, (x1, y1), control, (x2, y2))
        if _is_free(line, others):
            break
    return line


def _is_free(line: Line, nodes: list[Node]) -> bool:
    """Whether a line runs over no node."""
    return not any(
        hypot(node.x - x, node.y - y) < node.radius + _CLEAR
        for x, y in line.points()
        for node in nodes
    )


def _extent(nodes: list[Node], lines: list[Line]) -> tuple[float, float, float]:
    """How far to the left, to the right and down something is drawn, with a margin."""
    points = [point for line in lines for point in line.points()]
    points += [(node.x, node.y) for node in nodes]
    xs, ys = zip(*points, strict=True)
    return min(xs) - _MARGIN, max(xs) + _MARGIN, max(ys) + _MARGIN

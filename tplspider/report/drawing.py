"""The topology of a search as a drawing: where its pages are, and the lines between them.

Up to forty pages stand on two rings, the answer inside, and every link is a line. Of more, the
answer is a ring above a grid of the others, and the lines are those of the answer: all links would
be a grey blot. Where lines are left out the page shows them for one page at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import cos, hypot, pi, sin
from typing import TYPE_CHECKING

from tplspider.report.model import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tplspider.report.model import Report

    Point = tuple[float, float]

MOST_ON_RINGS = 40  # pages in all
MOST_ON_RING = 24  # pages of the answer, above a grid
MOST_NEAR = 3  # pages whose missing links are drawn
NEAR = 2  # links that such a page may lack
WIDTH = 960
_RADIUS, _SMALL = 20, 15
_COLUMNS, _CELL = 22, 42
_LABELLED = 14  # pages, up to which there is room for words
_MARGIN = 100  # at the sides: room for words
_ASIDE = 24  # how far the line of a missing link is bent
_ROUND = (95, -95, 190, -190, 280, -280)  # how far others are, to go round a page
_STEPS = 24  # points of a line that are looked at


@dataclass(frozen=True, slots=True)
class Node:
    """A page: its rank (0 for the key page) and where it is."""

    rank: int
    x: float
    y: float
    radius: int
    kind: str  # key, member or other
    links: str = ""  # ranks of the pages it links to, as ranges, where they are not drawn
    label_y: float = 0  # 0 where there is no room for words


@dataclass(frozen=True, slots=True)
class Line:
    """A line between two pages; one-way lines and missing links go from *source* to *target*."""

    source: int
    target: int
    kind: str  # mutual, one-way or missing
    place: str  # answer, key or other: what it belongs to
    path: str
    middle: tuple[float, float]  # where the sign of a missing link is


@dataclass(frozen=True, slots=True)
class Drawing:
    """Nodes and lines in a picture of so many units, from *left*.

    *whole* if no link is left out.
    """

    height: float
    nodes: list[Node] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)
    whole: bool = True
    left: float = 0
    width: float = WIDTH


def draw(report: Report) -> Drawing:
    """The drawing of a search; without nodes if no page was explored."""
    if not report.pages:
        return Drawing(0)
    whole = len(report.pages) <= MOST_ON_RINGS
    nodes, height = (_on_rings if whole else _in_grid)(report)
    places = {node.rank: node for node in nodes}
    drawn = places
    if not whole:
        ring = report.members if len(report.members) <= MOST_ON_RING else ()
        drawn = {rank: places[rank] for rank in ring}
    lines = [*_links(report, drawn), *_missing(report, places)]
    left = max(0.0, min(node.x for node in nodes) - _MARGIN) if whole else 0
    return Drawing(round(height), nodes, lines, whole, round(left), round(WIDTH - 2 * left))


def nearest(report: Report) -> list[int]:
    """The pages that are not part of the answer and lack the fewest links to be."""
    if not report.members:
        return []
    lacking = {rank: len(report.missing(rank)) for rank in report.pages}
    near = [rank for rank in lacking if lacking[rank] and rank not in report.members]
    return sorted(near, key=lambda rank: (lacking[rank], rank))


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in a short form.

    >>> ranges([0, 1, 2, 5, 7, 8])
    '0-2 5 7-8'
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return " ".join(f"{a}-{b}" if a != b else f"{a}" for a, b in found)


def _on_rings(report: Report) -> tuple[list[Node], float]:
    inside = list(report.members)
    outside = [KEY, *(rank for rank in report.pages if rank not in inside)]
    inner = 0 if len(inside) == 1 else max(85.0, 52 * len(inside) / (2 * pi))
    outer = max(inner + 95, 60 * len(outside) / (2 * pi), 190.0)
    middle = outer + 50
    wide = min(1.35, (WIDTH / 2 - 90) / outer) if len(report.pages) > 3 else 1.2
    labels = len(report.pages) <= _LABELLED
    radius = _RADIUS if len(report.pages) <= 24 else _SMALL + 2
    nodes = []
    for ring, size in ((outside, outer), (inside, inner)):
        for rank, (x, y) in zip(ring, _circle(len(ring), size), strict=True):
            place = _round(x * wide, y, middle)
            # Away from the middle, where most lines are.
            label = place[1] + (-radius - 11 if y < -1 else radius + 20)
            kind = _kind(report, rank)
            nodes.append(Node(rank, *place, radius, kind, label_y=label if labels else 0))
    return sorted(nodes, key=lambda node: node.rank), max(node.y for node in nodes) + 50


def _in_grid(report: Report) -> tuple[list[Node], float]:
    inside = {*report.members}
    others = [rank for rank in report.pages if rank not in inside]
    on_ring = report.members if len(inside) <= MOST_ON_RING else ()
    ring = 0 if len(on_ring) < 2 else max(110.0, 84 * len(on_ring) / (2 * pi))
    middle = ring + 40
    positions = {
        rank: _round(x, y, middle)
        for rank, (x, y) in zip(on_ring, _circle(len(on_ring), ring), strict=True)
    }
    positions[KEY] = (60.0, 40.0)
    top = 2 * middle + 60
    if inside and not on_ring:
        positions |= _grid(report.members, top)
        top = max(y for _, y in positions.values()) + 2 * _CELL
    positions |= _grid(others, top)
    nodes = [
        Node(
            *(rank, *place, _RADIUS if rank == KEY or rank in on_ring else _SMALL),
            *(_kind(report, rank), ranges(sorted(report.links[rank]))),
        )
        for rank, place in sorted(positions.items())
    ]
    return nodes, max(y for _, y in positions.values()) + 40


def _grid(ranks: Sequence[int], top: float) -> dict[int, Point]:
    left = (WIDTH - _COLUMNS * _CELL + _CELL) / 2
    places = (divmod(place, _COLUMNS) for place in range(len(ranks)))
    return {
        rank: (left + column * _CELL, top + row * _CELL)
        for rank, (row, column) in zip(ranks, places, strict=True)
    }


def _circle(count: int, radius: float) -> list[tuple[float, float]]:
    """Places on a circle, clockwise from its top."""
    turns = [2 * pi * place / max(count, 1) - pi / 2 for place in range(count)]
    return [(radius * cos(turn), radius * sin(turn)) for turn in turns]


def _round(x: float, y: float, middle: float) -> tuple[float, float]:
    return round(WIDTH / 2 + x, 1), round(middle + y, 1)


def _kind(report: Report, rank: int) -> str:
    if rank == KEY:
        return "key"
    return "member" if rank in report.members else "other"


def _links(report: Report, places: dict[int, Node]) -> Iterator[Line]:
    """The links among some pages; two that link to each other have one line."""
    for one, other in combinations(places, 2):
        forth, back = other in report.links[one], one in report.links[other]
        if not forth and not back:
            continue
        in_answer = one in report.members and other in report.members
        place = "answer" if in_answer else "key" if KEY in (one, other) else "other"
        source, target = (one, other) if forth else (other, one)
        kind = "mutual" if forth and back else "one-way"
        yield _line(places, source, target, kind, place)


def _missing(report: Report, places: dict[int, Node]) -> Iterator[Line]:
    """The links that the nearest pages lack."""
    for rank in nearest(report)[:MOST_NEAR]:
        pairs = report.missing(rank)
        if len(pairs) <= NEAR:
            for source, target in pairs:
                yield _line(places, source, target, "missing", "answer")


def _line(places: dict[int, Node], source: int, target: int, kind: str, place: str) -> Line:
    """A line from the edge of one node to that of another; round those that are in its way."""
    start, end = places[source], places[target]
    dx, dy = end.x - start.x, end.y - start.y
    length = hypot(dx, dy) or 1
    dx, dy = dx / length, dy / length
    first, last = start.radius + 6, length - end.radius - 6
    x1, y1 = start.x + dx * first, start.y + dy * first
    x2, y2 = start.x + dx * last, start.y + dy * last
    others = [node for node in places.values() if node.rank not in (source, target)]
    # Beside a missing link, that of the other way may be there.
    bends = (_ASIDE, -_ASIDE) if kind == "missing" else (0,)
    for bend in (*bends, *_ROUND, bends[0]):
        x, y = (x1 + x2) / 2 - dy * bend, (y1 + y2) / 2 + dx * bend
        if _is_free((x1, y1), (x, y), (x2, y2), others):
            break
    way = f"Q{x:.1f} {y:.1f} " if bend else "L"
    path = f"M{x1:.1f} {y1:.1f}{way}{x2:.1f} {y2:.1f}"
    middle = (x1 + 2 * x + x2) / 4, (y1 + 2 * y + y2) / 4
    return Line(source, target, kind, place, path, (round(middle[0], 1), round(middle[1], 1)))


def _is_free(start: Point, bend: Point, end: Point, nodes: list[Node]) -> bool:
    """Whether a curve runs over no node; a bend in the middle of two points is a straight line."""
    for step in range(1, _STEPS):
        t = step / _STEPS
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t**2
        x = a * start[0] + b * bend[0] + c * end[0]
        y = a * start[1] + b * bend[1] + c * end[1]
        if any(abs(node.x - x) < node.radius > abs(node.y - y) for node in nodes):
            return False
    return True

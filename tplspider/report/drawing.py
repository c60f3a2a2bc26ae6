"""The topology of a search as a drawing: where its pages are, and the lines between them.

Up to forty pages stand on two rings, the answer inside, and every link is a line. Of more, the
answer is a ring above a grid of the others, and the lines are those of the answer: all links would
be a grey blot. Where lines are left out the page shows them for one page at a time.
"""

from __future__ import annotations

from itertools import combinations
from math import cos, pi, sin
from typing import TYPE_CHECKING

from tplspider.report.drawn_labels import label_box, place_labels
from tplspider.report.drawn_shapes import WIDTH, Drawing, Node, line_between
from tplspider.report.model import KEY

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tplspider.report.drawn_shapes import Line, Point
    from tplspider.report.model import Report

MOST_ON_RINGS = 40  # pages in all
MOST_ON_RING = 24  # pages of the answer, above a grid
MOST_NEAR = 3  # pages whose missing links are drawn
NEAR = 2  # links that such a page may lack
_MOST_HEADS = 12  # pages of the answer, up to which its lines have heads
_RADIUS, _SMALL = 20, 15
_COLUMNS, _CELL = 22, 42
_LABELLED = 14  # pages, up to which there is room for words
_MARGIN = 40


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
    left = 0.0
    if whole:
        if len(report.pages) <= _LABELLED:
            texts = {rank: row["anchor_text"] or row["title"] for rank, row in report.rows.items()}
            nodes = place_labels(nodes, lines, texts, height / 2)
        left, right, height = _extent(nodes, lines)
        left = max(0.0, min(left, WIDTH - right))
    size = round(WIDTH - 2 * left)
    heads = len(report.members) <= _MOST_HEADS
    return Drawing(round(height), nodes, lines, whole, round(left), size, heads)


def nearest(report: Report) -> list[int]:
    """The pages that are not part of the answer and lack the fewest links to be."""
    if not report.members:
        return []
    lacking = {rank: len(report.missing(rank)) for rank in report.pages}
    near = [rank for rank in lacking if lacking[rank] and rank not in report.members]
    return sorted(near, key=lambda rank: (lacking[rank], rank))


def near_pages(report: Report) -> list[tuple[int, list[tuple[int, int]]]]:
    """The pages that lack so few links to be part of the answer that these are drawn, and told."""
    lacking = [(rank, report.missing(rank)) for rank in nearest(report)[:MOST_NEAR]]
    return [near for near in lacking if len(near[1]) <= NEAR]


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
    inner = 0 if len(inside) == 1 else max(85.0, 56 * len(inside) / (2 * pi))
    outer = max(inner + (95 if len(inside) < 20 else 120), 60 * len(outside) / (2 * pi), 190.0)
    middle = outer + 50
    wide = min(1.35, (WIDTH / 2 - 90) / outer) if len(report.pages) > 3 else 1.2
    radius = _RADIUS if len(report.pages) <= 24 else _SMALL + 2
    nodes = []
    for ring, size in ((outside, outer), (inside, inner)):
        # The key page is at the top: pages of the answer beside its line down, not below it.
        turn = pi / max(len(ring), 1) if ring is inside else 0
        for rank, (x, y) in zip(ring, _circle(len(ring), size, turn), strict=True):
            nodes.append(Node(rank, *_round(x * wide, y, middle), radius, _kind(report, rank)))
    return sorted(nodes, key=lambda node: node.rank), 2 * middle


def _extent(nodes: list[Node], lines: list[Line]) -> tuple[float, float, float]:
    """How far to the left, to the right and down something is drawn, with a margin."""
    boxes = [label_box(node.label) for node in nodes if node.label]
    points = [point for line in lines for point in line.points()]
    points += [(node.x, node.y) for node in nodes]
    left = min(min(x for x, _ in points) - _MARGIN, *(box[0] - 4 for box in boxes), WIDTH)
    right = max(max(x for x, _ in points) + _MARGIN, *(box[2] + 4 for box in boxes), 0)
    down = max(max(y for _, y in points) + _MARGIN, *(box[3] + 4 for box in boxes), 0)
    return left, right, down


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


def _circle(count: int, radius: float, turned: float = 0) -> list[Point]:
    """Places on a circle, clockwise from its top."""
    turns = [2 * pi * place / max(count, 1) - pi / 2 + turned for place in range(count)]
    return [(radius * cos(turn), radius * sin(turn)) for turn in turns]


def _round(x: float, y: float, middle: float) -> Point:
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
        source, target = (one, other) if forth else (other, one)
        kind = "answer" if in_answer else "mutual" if forth and back else "one-way"
        yield line_between(places, source, target, kind)


def _missing(report: Report, places: dict[int, Node]) -> Iterator[Line]:
    """The links that the nearest pages lack."""
    for _, pairs in near_pages(report):
        for source, target in pairs:
            yield line_between(places, source, target, "missing")

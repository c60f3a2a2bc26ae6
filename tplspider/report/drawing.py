"""The topology of a search as a drawing: where its pages are, and the lines between them.

Up to forty pages stand on two rings, the answer inside, and every link is a line. Of more, the
answer is a ring above a grid of the others, and the lines are those of the answer: all links would
be a grey blot. Where lines are left out the page shows them for one page at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from math import cos, hypot, pi, sin
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from tplspider.report.model import KEY, Report
from tplspider.report.words import short

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    Point = tuple[float, float]
    Box = tuple[float, float, float, float]


# What a drawing is made of: pages, the lines between them, and the words beside them.

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


# Where the words beside the pages of a drawing are: where no line, page or other word is.

_LENGTHS = (24, 13)  # characters, of which the first that fit are taken
_LETTER, _WIDE = 7.4, 13.0  # units of a character, at most but for a few
_ABOVE, _BELOW = 11, 5  # units of a line of text, from where its letters stand
_APART = 5  # units to a line: half a head, and a bit
_LABEL_STEPS = 60


def place_labels(
    nodes: Sequence[Node], lines: Sequence[Line], texts: Mapping[int, str], middle: float
) -> list[Node]:
    """The nodes with their words, in the order of the nodes; some have none, for want of room."""
    points = [point for line in lines for point in line.points(_LABEL_STEPS)]
    taken = [_around(node) for node in nodes]
    placed = []
    for node, own in zip(nodes, list(taken), strict=True):
        others = [box for box in taken if box is not own]
        label = _free_label(node, texts.get(node.rank, ""), points, others, middle)
        if label:
            taken.append(label_box(label))
        placed.append(replace(node, label=label))
    return placed


def label_box(label: Label) -> Box:
    """The room that words take, or a little more."""
    width = sum(
        0 if combining(letter) else _WIDE if east_asian_width(letter) in "WF" else _LETTER
        for letter in label.text
    )
    left = label.x - width * {"start": 0, "middle": 0.5, "end": 1}[label.anchor]
    return left, label.y - _ABOVE, left + width, label.y + _BELOW


def _free_label(
    node: Node, words: str, points: Sequence[Point], taken: Sequence[Box], middle: float
) -> Label | None:
    for most in _LENGTHS:
        text = short(words, most)
        for x, y, anchor in _places(node, middle) if text else ():
            label = Label(text, round(x, 1), round(y, 1), anchor)
            left, top, right, bottom = box = label_box(label)
            near = (left - _APART, top - _APART, right + _APART, bottom + _APART)
            if left < 2 or right > WIDTH - 2 or top < 2:
                continue
            if not any(_is_in(point, near) for point in points) and not any(
                _meet(box, other) for other in taken
            ):
                return label
    return None


def _places(node: Node, middle: float) -> Iterator[tuple[float, float, str]]:
    """Where the words may be, the best first: away from the middle, where most lines are."""
    out = node.radius + (4 if node.kind == "member" else 0)
    above, below = node.y - out - 8, node.y + out + 15
    right, left = (node.x + out + 7, "start"), (node.x - out - 7, "end")
    heights = (above, below) if node.y < middle - 1 else (below, above)
    sides = (right, left) if node.x >= WIDTH / 2 - 1 else (left, right)
    yield node.x, heights[0], "middle"
    for x, anchor in sides:
        yield x, node.y + 4, anchor
    yield node.x, heights[1], "middle"
    for y in (heights[0], heights[1]):
        for x, anchor in sides:  # at a corner
            inner = x - (9 if anchor == "start" else -9)
            yield inner, y, anchor
            yield x, y + (6 if y == above else -6), anchor


def _around(node: Node) -> Box:
    wide = (node.radius if node.rank else 24) + 6
    high = node.radius + 6
    return node.x - wide, node.y - high, node.x + wide, node.y + high


def _is_in(point: Point, box: Box) -> bool:
    return box[0] <= point[0] <= box[2] and box[1] <= point[1] <= box[3]


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


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

"""Where the words beside the pages of a drawing are: where no line, page or other word is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from unicodedata import combining, east_asian_width

from tplspider.report.drawn_shapes import WIDTH, Label
from tplspider.report.shown_text import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tplspider.report.drawn_shapes import Line, Node, Point

    Box = tuple[float, float, float, float]  # left, top, right, bottom

_LENGTHS = (24, 13)  # characters, of which the first that fit are taken
_LETTER, _WIDE = 7.4, 13.0  # units of a character, at most but for a few
_ABOVE, _BELOW = 11, 5  # units of a line of text, from where its letters stand
_APART = 5  # units to a line: half a head, and a bit
_STEPS = 60


def place_labels(
    nodes: Sequence[Node], lines: Sequence[Line], texts: Mapping[int, str], middle: float
) -> list[Node]:
    """The nodes with their words, in the order of the nodes; some have none, for want of room."""
    points = [point for line in lines for point in line.points(_STEPS)]
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

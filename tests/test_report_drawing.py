"""Drawings that can be read: legends of what is drawn, words off the lines, no stray line."""

from __future__ import annotations

from math import hypot
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser_profile import needs_chromium
from tests.support.opened_pages import opened
from tests.support.summaries import random_summary, row, summary
from tplspider.report.drawing import draw, near_pages
from tplspider.report.files import write_report
from tplspider.report.model import make_report
from tplspider.report.rendering import render_report
from tplspider.web.html import parse_html, visible_text

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser


def complete(pages: int, **more: Any) -> dict[str, Any]:
    """Pages that all link to each other and to the key page."""
    ranks = range(pages + 1)
    rows = [
        row(rank, [other for other in ranks if other != rank], anchor_text=f"Menu item {rank}")
        for rank in ranks[1:]
    ]
    return summary(rows, [*ranks[1:]], **more)


def nearly() -> dict[str, Any]:
    """Two pages of the answer; five more, each of which lacks one link to be part of it."""
    rows = [row(1, [0, *range(2, 8)]), row(2, [0, 1, *range(3, 8)])]
    return summary([*rows, *(row(rank, [0, 1]) for rank in range(3, 8))], [1, 2])


SEARCHES = {
    "complete": complete(3),
    "many": complete(29),
    "nearly": nearly(),
    "one": random_summary(1, 1),
    "5": random_summary(5, 3),
    "12": random_summary(12, 4),
    "30": random_summary(30, 6),
    "200": random_summary(200, 8),
    "no answer": summary([row(1, [0]), row(2, [])], []),
    "large": random_summary(90, 60),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_the_legend_is_of_what_is_drawn(name: str) -> None:
    root: Any = parse_html(render_report(make_report(SEARCHES[name])))
    drawn = {
        line.get("class").split()[-1] for line in root.xpath("//svg//*[@data-from and @data-to]")
    }
    assert {*root.xpath("//ul[@class and li]/li/@data-kind")} == drawn
    nodes = {node.get("class").split()[-1] for node in root.xpath("//svg//a[@data-rank]")}
    told = root.xpath("//ul//svg/g[starts-with(@class, 'node')]/@class")
    assert {kind.split()[-1] for kind in told} == nodes


def test_the_missing_links_that_are_drawn_are_those_that_are_told() -> None:
    report = make_report(nearly())
    drawn = {(line.source, line.target) for line in draw(report).lines if line.kind == "missing"}
    assert drawn == {(3, 2), (4, 2), (5, 2)}
    assert drawn == {pair for _, pairs in near_pages(report) for pair in pairs}
    text = visible_text(parse_html(render_report(report)))
    for source in range(3, 8):
        told = f"page {source} does not link to page 2" in text.lower().partition("nearest")[2]
        assert told == ((source, 2) in drawn)
    assert "2 more pages lack as many links to be part of it, or more" in text


@pytest.mark.parametrize("pages", [2, 3, 7, 12, 13, 29, 40])
def test_no_line_goes_astray(pages: int) -> None:
    drawing = draw(make_report(complete(pages)))
    members = [node for node in drawing.nodes if node.kind == "member"]
    x = sum(node.x for node in members) / pages
    y = sum(node.y for node in members) / pages
    wide, high = (
        max(abs(node.x - x) for node in members),
        max(abs(node.y - y) for node in members),
    )
    for line in drawing.lines:
        for at in line.points() if line.kind == "answer" else ():
            # Inside of the ring, which may be wider than it is high.
            assert hypot((at[0] - x) / (wide or 1), (at[1] - y) / (high or wide)) < 1.1
    assert drawing.heads == (pages <= 12)


# Words, and points of lines, where the browser has them.
PLACES = """() => {
    const box = (element) => { const b = element.getBBox(); return [b.x, b.y, b.width, b.height]; };
    const points = [...document.querySelectorAll("#topology .line")].flatMap((line) =>
        [...Array(60).keys()].map((step) => {
            const point = line.getPointAtLength(line.getTotalLength() * step / 59);
            return [point.x, point.y];
        }));
    const view = document.querySelector("#topology").viewBox.baseVal;
    return [[...document.querySelectorAll("#topology .label")].map(box), points,
        [view.x, view.y, view.width, view.height]];
}"""


@needs_chromium
def test_no_word_is_on_a_line(browser: Browser, tmp_path: Path) -> None:
    random = Random(4)
    searches = [SEARCHES["complete"], complete(2), complete(5), nearly(), random_summary(6, 3)]
    searches += [
        random_summary(pages, min(pages, 3), density=random.random()) for pages in (2, 4, 7, 9, 14)
    ]
    words = 0
    for found in searches:
        write_report(tmp_path / "a.html", found)
        with opened(browser, tmp_path / "a.html", viewport={"width": 1200, "height": 800}) as page:
            labels, points, (left, top, width, height) = page.evaluate(PLACES)
        words += len(labels)
        for x, y, wide, high in labels:
            assert not [p for p in points if x <= p[0] <= x + wide and y <= p[1] <= y + high]
            assert left <= x <= x + wide <= left + width
            assert top <= y <= y + high <= top + height
        for one, (x, y, wide, high) in enumerate(labels):
            for x2, y2, wide2, high2 in labels[:one]:
                assert x + wide <= x2 or x2 + wide2 <= x or y + high <= y2 or y2 + high2 <= y
    assert words > 30  # there is room for most


def test_the_words_of_a_small_drawing_are_all_there() -> None:
    for pages in (1, 2, 3, 4, 5):
        nodes = draw(make_report(complete(pages))).nodes
        assert all(node.label for node in nodes if node.rank), pages

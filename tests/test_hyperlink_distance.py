from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import literal
from tplspider.search.sort_links import (
    HyperlinkDistances,
    h_distance,
    link_relevance,
    words,
)

PATHS = st.lists(st.sampled_from("abc"), min_size=1, max_size=6)


@pytest.mark.parametrize(
    ("h", "g", "distance"),
    [
        ("research/maths/", "research/maths/", 0),
        ("research/maths/", "research/maths/geometry/", 1),
        ("research/maths/", "research/", -1),
        ("research/maths/", "research/physics/dynamics/", -1),
        ("research/maths/", "www.upv.es/research/", -2),
    ],
)
def test_examples_of_the_definition(h: str, g: str, distance: int) -> None:
    assert h_distance(h.split("/")[:-1], g.split("/")[:-1]) == distance


def test_example_of_the_four_links() -> None:
    distances = HyperlinkDistances("http://www.upv.es/research/maths/index.html")
    links = {
        "http://www.tesco.es/": -3,
        "http://www.upv.es/research/maths/pi.html": 0,
        "http://www.upv.es/sport/": -2,
        "http://www.upv.es/research/maths/news/computers.html": 1,
    }
    assert {link: distances.to(link) for link in links} == links
    assert sorted(links, key=lambda link: link_relevance(links[link])) == [
        "http://www.upv.es/research/maths/pi.html",
        "http://www.upv.es/research/maths/news/computers.html",
        "http://www.upv.es/sport/",
        "http://www.tesco.es/",
    ]


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://www.upv.es/research/maths/index.html", ("upv.es", "research", "maths")),
        ("http://upv.es", ("upv.es",)),
        ("https://user@upv.es:8443/a/?q=/b/c/", ("upv.es", "a")),
        ("http://upv.es/a//b/c", ("upv.es", "a", "b")),
        ("http://[::1]:80/a/b", ("::1", "a")),
    ],
)
def test_words(address: str, expected: tuple[str, ...]) -> None:
    assert words(address) == expected


@given(PATHS, PATHS)
def test_distance_is_that_of_the_definition(h: list[str], g: list[str]) -> None:
    assert h_distance(h, g) == literal.h_distance(h, g)


def test_link_relevance() -> None:
    assert sorted([-3, -1, 2, 0, 1, -2, 3], key=link_relevance) == [0, 1, 2, 3, -1, -2, -3]

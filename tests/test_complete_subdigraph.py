from __future__ import annotations

from itertools import combinations
from random import Random

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import literal
from tests.support.examples import examples
from tplspider.search.cliques import (
    CompleteSubdigraphs,
    OutOfNodesError,
    SearchBudget,
    first_clique,
    members,
)


@st.composite
def graphs(draw: st.DrawFn, pages: int = 9) -> list[set[int]]:
    """Of each page, the earlier pages that it is mutually linked with."""
    count = draw(st.integers(1, pages))
    density = draw(st.sampled_from([0.2, 0.5, 0.8, 0.95]))
    random = draw(st.randoms(use_true_random=False))
    return [{other for other in range(page) if random.random() < density} for page in range(count)]


@examples(300)
@given(graphs(), st.integers(1, 6))
def test_each_step_is_that_of_the_power_set(earlier: list[set[int]], size: int) -> None:
    subdigraphs = CompleteSubdigraphs(size)
    mutual: dict[int, set[int]] = {}
    best: list[int] = []
    for page, others in enumerate(earlier):
        mutual[page] = set(others)
        for other in others:
            mutual[other].add(page)
        complete, best = literal.power_set_step(mutual, page, size, best)
        subdigraphs.update(page, sum(1 << other for other in others))
        assert subdigraphs.complete == (complete is not None)
        assert list(subdigraphs.best) == (complete or best)
        if complete:
            break
    assert not subdigraphs.bounded


@examples(60)
@given(graphs(pages=20))
def test_the_best_is_as_large_as_networkx_finds(earlier: list[set[int]]) -> None:
    subdigraphs = CompleteSubdigraphs(size=1000)
    graph: nx.Graph[int] = nx.Graph()
    for page, others in enumerate(earlier):
        graph.add_node(page)
        graph.add_edges_from((page, other) for other in others)
        subdigraphs.update(page, sum(1 << other for other in others))
        assert len(subdigraphs.best) == max(map(len, nx.find_cliques(graph)))
        assert all(
            graph.has_edge(a, b) for a in subdigraphs.best for b in subdigraphs.best if a < b
        )


@examples(200)
@given(graphs(), st.integers(1, 5), st.data())
def test_a_page_that_gains_mutual_links(
    earlier: list[set[int]], size: int, data: st.DataObject
) -> None:
    """A duplicate was found: links to it now count for a page that was explored before."""
    subdigraphs = CompleteSubdigraphs(size)
    mutual: dict[int, set[int]] = {}
    best: list[int] = []
    for page, others in enumerate(earlier):
        mutual[page] = set()
        gaining = data.draw(st.integers(0, page))
        steps = [(page, others), (gaining, {other for other in range(page) if other != gaining})]
        for step, new in steps:
            mutual[step] |= new
            for other in new:
                mutual[other].add(step)
            complete, best = literal.power_set_step(mutual, step, size, best)
            subdigraphs.update(step, sum(1 << other for other in new))
            assert list(subdigraphs.best) == (complete or best)
            if complete:
                return


def test_first_by_rank() -> None:
    # 0-3-4 and 1-2-5 are both complete: the one that holds page 0 comes first.
    edges = [(0, 3), (0, 4), (3, 4), (1, 2), (1, 5), (2, 5)]
    mutual = [sum(1 << b for pair in edges if a in pair for b in pair if b != a) for a in range(6)]
    assert first_clique(mutual, 0b111111, 3, SearchBudget()) == [0, 3, 4]
    assert first_clique(mutual, 0b111110, 3, SearchBudget()) == [1, 2, 5]
    assert first_clique(mutual, 0b111111, 4, SearchBudget()) is None
    assert first_clique(mutual, 0, 0, SearchBudget()) == []


def test_a_step_gives_up_by_counting() -> None:
    random = Random(1)
    pages = range(120)
    mutual = [0] * len(pages)
    for a, b in combinations(pages, 2):
        if random.random() < 0.9:
            mutual[a] |= 1 << b
            mutual[b] |= 1 << a
    with pytest.raises(OutOfNodesError):
        first_clique(mutual, (1 << 120) - 1, 40, SearchBudget(5_000))
    subdigraphs = CompleteSubdigraphs(size=40, max_nodes=5_000)
    for page in pages:
        subdigraphs.update(page, mutual[page] & ((1 << page) - 1))
    assert subdigraphs.bounded
    assert not subdigraphs.complete
    assert len(subdigraphs.best) > 1


def test_a_step_after_one_that_gave_up_takes_all_there_is() -> None:
    # Pages 0 to 3 were not looked at for lack of nodes; then a fifth that is mutual with them all.
    subdigraphs = CompleteSubdigraphs(size=4, max_nodes=0)
    for page in range(4):
        subdigraphs.update(page, 0 if page == 3 else (1 << page) - 1)
    assert subdigraphs.bounded
    subdigraphs.max_nodes = 1000
    subdigraphs.update(4, 0b0111)
    assert subdigraphs.best == (0, 1, 2, 4)


@pytest.mark.slow
def test_a_thousand_pages_that_all_link_to_each_other() -> None:
    subdigraphs = CompleteSubdigraphs(size=2000)
    for page in range(1000):
        subdigraphs.update(page, (1 << page) - 1)
    assert subdigraphs.best == tuple(range(1000))
    assert not subdigraphs.bounded


def test_members() -> None:
    assert members(0) == []
    assert members(0b100101) == [0, 2, 5]

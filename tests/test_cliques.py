from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import literal
from tests.support.kinds import examples
from tests.support.plain_site import ROOT, PlainSite, outcome, refusing_sites, run, sites
from tplspider.search.cliques import (
    CompleteSubdigraphs,
    OutOfNodesError,
    SearchBudget,
    first_clique,
)


@st.composite
def graphs(draw: st.DrawFn, pages: int = 9) -> list[set[int]]:
    """Of each page, the earlier pages that it is mutually linked with."""
    count = draw(st.integers(1, pages))
    density = draw(st.sampled_from([0.2, 0.5, 0.8, 0.95]))
    random = draw(st.randoms(use_true_random=False))
    return [{other for other in range(page) if random.random() < density} for page in range(count)]


@examples(200)
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


@examples(200)
@given(graphs(), st.integers(1, 5), st.data())
def test_pages_gain_mutual_links(earlier: list[set[int]], size: int, data: st.DataObject) -> None:
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


def expected_outcome(answer: literal.LiteralAnswer) -> dict[str, Any]:
    return {
        "reason": answer.reason,
        "loads": answer.loads,
        "candidates": answer.members,
        "explored": [tuple(row.values()) for row in answer.explored],
    }


ANY = sites() | refusing_sites()
LOADS = st.sampled_from([0, 3, 6])
REFUSALS = st.sampled_from([10, 3, 2, 1, 0])


@examples(200)
@given(ANY, st.integers(1, 5), st.sampled_from([0, 1, 2, 4, 7]), REFUSALS)
def test_the_search_is_that_of_the_literal_reading(
    site: PlainSite, n: int, max_loads: int, max_refusals: int
) -> None:
    expected = literal.search(site.load, ROOT + "/", n, max_loads, max_refusals=max_refusals)
    search, asked = run(site, "/", size=n, max_loads=max_loads, max_refusals=max_refusals)
    assert outcome(search) == expected_outcome(expected)
    assert asked == expected.asked


@examples(200)
@given(ANY, st.integers(1, 5), LOADS, REFUSALS, st.integers(2, 8), st.integers(0, 1000))
def test_the_answer_does_not_depend_on_timing(
    site: PlainSite, n: int, max_loads: int, max_refusals: int, in_flight: int, seed: int
) -> None:
    options: dict[str, Any] = {"size": n, "max_loads": max_loads, "max_refusals": max_refusals}
    alone, asked = run(site, "/", **options)
    several, asked_by_several = run(site, "/", in_flight=in_flight, seed=seed, **options)
    assert outcome(several) == outcome(alone)
    assert set(asked) <= set(asked_by_several)
    assert alone.wasted == 0
    assert 0 <= several.wasted < in_flight
    if max_loads:
        assert several.loads + several.wasted <= max_loads


SAME_TEXT = "a duplicate of the first"


@pytest.mark.parametrize(
    ("ends", "max_refusals", "reason", "loads"),
    [
        (["http-429"] * 12, 10, "refused", 11),
        (["http-429"] * 12, 0, "links_exhausted", 13),
        (["http-404"] * 12, 10, "links_exhausted", 13),
        (["timeout", "dns"] * 3, 2, "links_exhausted", 7),  # not one and the same
        (["http-403", "", "http-403", "http-403", ""], 2, "refused", 5),  # a page breaks the row
        (["http-403", "http-404", "http-403", "http-403", ""], 2, "refused", 5),
        ([SAME_TEXT, "connection", SAME_TEXT, "connection", ""], 2, "refused", 5),
    ],
)
def test_a_site_that_refuses(ends: list[str], max_refusals: int, reason: str, loads: int) -> None:
    site = PlainSite({"/": [f"/{number}" for number in range(len(ends))]})
    for path, end in zip(site.links["/"], ends, strict=True):
        if end == SAME_TEXT:
            site.texts[path] = end
        elif end:
            site.failures[path] = end
    search, _ = run(site, "/", max_refusals=max_refusals)
    assert (search.reason, search.loads) == (reason, loads)


def test_a_duplicate_lends_its_name() -> None:
    # Nobody links to /a by its own name: /b and /c know it as /old, which redirects to it.
    links = {"/": ["/a", "/b", "/c", "/old"], "/a": ["/b", "/c"]}
    links |= {"/b": ["/old", "/c"], "/c": ["/old", "/b"]}
    site = PlainSite(links, redirects={"/old": "/a"})
    search, _ = run(site, "/", size=3)
    assert search.complete
    assert [(v.outcome, v.reason) for v in search.visits if v.link.url.endswith("old")] == [
        ("duplicate", f"duplicate-of {ROOT}/a")
    ]


def test_a_page_that_a_redirect_leads_to_is_loaded_once() -> None:
    """Also if a link to it comes up while the redirect is followed: that link is held back."""
    site = PlainSite({"/": ["/a", "/old", "/new"]}, redirects={"/old": "/new"})
    for seed in range(8):
        search, _ = run(site, "/", in_flight=2, seed=seed)  # which loads no page twice
        assert search.loads == 3

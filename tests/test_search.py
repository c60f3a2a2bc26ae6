from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import literal
from tests.support.examples import examples
from tests.support.plain_site import ROOT, PlainSite, outcome, refusing_sites, run, sites
from tplspider import (
    Address,
    NoPage,
    Page,
    SubdigraphSearch,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def expected_outcome(answer: literal.LiteralAnswer) -> dict[str, Any]:
    return {
        "reason": answer.reason,
        "loads": answer.loads,
        "candidates": answer.members,
        "explored": [tuple(row.values()) for row in answer.explored],
    }


ANY = sites() | refusing_sites()
REFUSALS = st.sampled_from([10, 3, 2, 1, 0])


@examples(400)
@given(ANY, st.integers(1, 5), st.sampled_from([0, 1, 2, 4, 7]), REFUSALS)
def test_the_search_is_that_of_the_literal_reading(
    site: PlainSite, n: int, max_loads: int, max_refusals: int
) -> None:
    expected = literal.search(site.load, ROOT + "/", n, max_loads, max_refusals=max_refusals)
    search, asked = run(site, "/", size=n, max_loads=max_loads, max_refusals=max_refusals)
    assert outcome(search) == expected_outcome(expected)
    assert asked == expected.asked


@examples(300)
@given(
    ANY,
    st.integers(1, 5),
    st.sampled_from([0, 3, 6]),
    REFUSALS,
    st.integers(2, 8),
    st.integers(0, 1000),
)
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


def menu(*names: str) -> dict[str, list[str]]:
    return {name: [other for other in names if other != name] for name in names}


def test_a_menu_is_found_with_as_few_loads_as_can_be() -> None:
    site = PlainSite({**menu("/a", "/b", "/c", "/d"), "/": ["/a", "/b", "/c", "/d"]})
    search, asked = run(site, "/", size=3)
    assert search.reason == "complete_subdigraph"
    assert [visit.rank for visit in search.members] == [1, 2, 3]
    assert search.loads == len(asked) == 4


def test_size_one_is_the_first_page() -> None:
    site = PlainSite({"/": ["/a", "/b"]}, failures={"/a": "timeout"})
    search, _ = run(site, "/", size=1)
    assert [visit.url for visit in search.members] == [f"{ROOT}/b"]
    assert search.loads == 3


def test_the_largest_of_the_smaller_ones_is_the_answer_when_links_run_out() -> None:
    site = PlainSite({**menu("/a", "/c"), "/b": [], "/": ["/a", "/b", "/c"]})
    search, _ = run(site, "/", size=3)
    assert search.reason == "links_exhausted"
    assert not search.complete
    assert [visit.url for visit in search.members] == [f"{ROOT}/a", f"{ROOT}/c"]


@pytest.mark.parametrize(
    ("max_loads", "reason", "loads"),
    [
        (1, "max_loads", 1),
        (2, "max_loads", 2),
        (3, "links_exhausted", 3),
        (0, "links_exhausted", 3),
    ],
)
def test_the_budget_counts_the_key_page(max_loads: int, reason: str, loads: int) -> None:
    search, _ = run(PlainSite({"/": ["/a", "/b"]}), "/", max_loads=max_loads)
    assert (search.reason, search.loads) == (reason, loads)


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
def test_a_site_that_refuses_is_left_alone(
    ends: list[str], max_refusals: int, reason: str, loads: int
) -> None:
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
    site = PlainSite(
        {
            "/": ["/a", "/b", "/c", "/old"],
            "/a": ["/b", "/c"],
            "/b": ["/old", "/c"],
            "/c": ["/old", "/b"],
        },
        redirects={"/old": "/a"},
    )
    search, _ = run(site, "/", size=3)
    assert search.complete
    assert [(v.outcome, v.reason) for v in search.visits if v.link.url.endswith("old")] == [
        ("duplicate", f"duplicate-of {ROOT}/a")
    ]


def test_a_known_final_address_costs_no_load() -> None:
    site = PlainSite({"/": ["/old", "/new"]}, redirects={"/old": "/new"})
    search, asked = run(site, "/")
    assert asked == [f"{ROOT}/", f"{ROOT}/old"]
    assert search.loads == 2
    assert [visit.outcome for visit in search.visits] == ["page", "duplicate"]


def test_the_key_page_is_never_a_member() -> None:
    site = PlainSite(
        {"/": ["/a", "/copy"], "/a": ["/copy", "/"], "/copy": ["/a"]}, texts={"/copy": "page /"}
    )
    search, _ = run(site, "/", size=2)
    assert [(v.outcome, v.reason) for v in search.visits] == [
        ("page", ""),
        ("duplicate", "key-page"),
    ]
    assert [visit.url for visit in search.members] == [f"{ROOT}/a"]


def test_a_search_on_plain_dicts() -> None:
    """Neither HTML nor a network: links in any order, pages made by hand."""

    def page(name: str, *links: str) -> Page:
        return Page(name, name, frozenset(links))

    pages: Mapping[str, Page] = {"p": page("p", "q"), "q": page("q", "p")}
    load: Callable[[str], Page | NoPage] = lambda url: pages.get(url, NoPage("http-404"))  # noqa: E731
    search = SubdigraphSearch(page("key"), [Address(name, name) for name in "pxq"], size=2)
    while visits := search.take():
        for visit in visits:
            search.tell(visit.rank, load(visit.link.url))
    assert search.reason == "complete_subdigraph"
    assert [visit.url for visit in search.members] == ["p", "q"]
    assert [visit.reason for visit in search.visits] == ["", "http-404", ""]


def test_what_is_told_late_or_twice_changes_nothing() -> None:
    search = SubdigraphSearch(Page("key", "key"), [Address("a", "a"), Address("b", "b")], size=1)
    search.take()
    search.tell(7, NoPage("error"))
    search.tell(1, Page("a", "a"))
    search.tell(1, Page("z", "z"))
    assert search.reason == "complete_subdigraph"
    assert search.take() == []
    assert [visit.url for visit in search.visits] == ["a"]


@pytest.mark.slow
def test_a_long_row_of_links_that_cost_nothing() -> None:
    names = [f"/{i}" for i in range(3000)]
    site = PlainSite({"/": [*(f"/r{name[1:]}" for name in names), *names]})
    site.redirects = {f"/r{name[1:]}": name for name in names}
    search, _ = run(site, "/", size=2, max_loads=0)
    assert search.reason == "links_exhausted"
    assert search.loads == 3001
    assert len(search.visits) == 6000

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any

import literal
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tplspider import (
    Address,
    Page,
    Site,
    SubdigraphSearch,
    Visit,
    get_links,
    identity,
    parse_html,
    read_page,
    sort_links,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ROOT = "http://example.org"


@dataclass
class PlainSite:
    """A website in memory: what each path links to, its text, where it redirects, why it fails."""

    links: dict[str, list[str]]
    texts: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def load(self, url: str) -> literal.LiteralPage | str:
        path = url.removeprefix(ROOT)
        for _ in range(20):
            if path in self.failures:
                return self.failures[path]
            if path not in self.redirects:
                break
            path = self.redirects[path]
        else:
            return "bad-response"
        if path.startswith("http"):
            return literal.LiteralPage(path, "<p>elsewhere</p>")
        anchors = "".join(f"<li><a href='{link}'></a></li>" for link in self.links.get(path, []))
        text = self.texts.get(path, f"page {path}")
        return literal.LiteralPage(ROOT + path, f"<p>{text}</p><ul>{anchors}</ul>")


def run(site: PlainSite, key: str, *, in_flight: int = 1, seed: int = 0, **options: Any) -> Any:
    """Search a site in memory; answers come back in an order that the seed decides."""
    random = Random(seed)
    loaded = site.load(ROOT + key)
    assert isinstance(loaded, literal.LiteralPage)
    root = parse_html(loaded.html)
    host = Site(identity(loaded.url))

    def answer(url: str) -> Page | str:
        page = site.load(url)
        if isinstance(page, str):
            return page
        if identity(page.url) not in host:
            return "offsite-redirect"
        return read_page(parse_html(page.html), page.url, host)

    def step(visit: Visit, path: str) -> str | None:
        """One request for a link: where its redirect leads, or None when it is over."""
        target = site.redirects.get(path)
        if target is None or target.startswith("http") or path in site.failures:
            search.tell(visit.rank, answer(ROOT + path))
            return None
        if search.knows(identity(ROOT + target), visit.rank):
            search.tell(visit.rank, Address(ROOT + target, identity(ROOT + target)))
            return None
        hops[visit.rank] = hops.get(visit.rank, 0) + 1
        if hops[visit.rank] > 20:
            search.tell(visit.rank, "bad-response")
            return None
        search.follow(visit.rank, identity(ROOT + target))
        return target

    hops: dict[int, int] = {}
    search = SubdigraphSearch(
        read_page(root, loaded.url, host),
        sort_links(get_links(root, loaded.url, host), identity(loaded.url)),
        in_flight=in_flight,
        **options,
    )
    asked = [ROOT + key]

    def take() -> list[tuple[Visit, str]]:
        visits = search.take()
        asked.extend(visit.link.url for visit in visits)
        return [(visit, visit.link.url.removeprefix(ROOT)) for visit in visits]

    flying = take()
    while not search.reason:
        visit, path = flying.pop(random.randrange(len(flying)))
        target = step(visit, path)
        if target is not None:
            flying.append((visit, target))
        flying += take()
        assert len(search.pending) <= in_flight
    return search, asked


def outcome(search: SubdigraphSearch) -> dict[str, Any]:
    return {
        "reason": search.reason,
        "loads": search.loads,
        "members": [visit.url for visit in search.members],
        "explored": [(v.rank, v.link.url, v.url, v.outcome, v.reason) for v in search.visits],
    }


def expected_outcome(answer: literal.LiteralAnswer) -> dict[str, Any]:
    return {
        "reason": answer.reason,
        "loads": answer.loads,
        "members": answer.members,
        "explored": [tuple(row.values()) for row in answer.explored],
    }


PATHS = [f"/{name}" for name in "abcdefgh"] + [f"/d/{name}" for name in "ijkl"]


@st.composite
def sites(draw: st.DrawFn) -> PlainSite:
    random = draw(st.randoms(use_true_random=False))
    density = draw(st.sampled_from([0.4, 0.7, 0.9]))
    paths = PATHS[: draw(st.integers(1, len(PATHS)))]
    site = PlainSite(
        {path: [other for other in paths if random.random() < density] for path in ["/", *paths]}
    )
    site.links["/"] = [path for path in paths if random.random() < 0.9] or paths[:1]
    for path in paths:
        kind = random.random()
        if kind < 0.12:
            site.redirects[path] = random.choice([*PATHS, "/", "/other", "http://else.where/"])
        elif kind < 0.22:
            site.texts[path] = random.choice(["same", "page /", ""])
        elif kind < 0.28:
            site.failures[path] = "http-404"
    return site


@settings(max_examples=400)
@given(sites(), st.integers(1, 5), st.sampled_from([0, 1, 2, 4, 7]))
def test_the_search_is_that_of_the_literal_reading(site: PlainSite, n: int, max_loads: int) -> None:
    expected = literal.search(site.load, ROOT + "/", n, max_loads)
    search, asked = run(site, "/", size=n, max_loads=max_loads)
    assert outcome(search) == expected_outcome(expected)
    assert asked == expected.asked


@settings(max_examples=300)
@given(
    sites(),
    st.integers(1, 5),
    st.sampled_from([0, 3, 6]),
    st.integers(2, 8),
    st.integers(0, 1000),
)
def test_the_answer_does_not_depend_on_timing(
    site: PlainSite, n: int, max_loads: int, in_flight: int, seed: int
) -> None:
    options = {"size": n, "max_loads": max_loads}
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
    load: Callable[[str], Page | str] = lambda url: pages.get(url, "http-404")  # noqa: E731
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
    search.tell(7, "error")
    search.tell(1, Page("a", "a"))
    search.tell(1, Page("z", "z"))
    assert search.reason == "complete_subdigraph"
    assert search.take() == []
    assert [visit.url for visit in search.visits] == ["a"]

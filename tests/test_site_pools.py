"""Which pages wait for the pool of their site, and in what order they are given out."""

from __future__ import annotations

import os
import subprocess
import sys
import tracemalloc
from base64 import b85encode
from collections import defaultdict
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.crawls import PROJECT
from tests.support.full_disk import short_files
from tplspider.pools.pool import Pool, PooledPage
from tplspider.pools.site_templates import ENOUGH, Released, SitePools

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


# What happens: a page of a site comes (its name, its content), or somebody asks for all there is.
arrivals = st.lists(
    st.one_of(
        st.tuples(st.sampled_from("abcd"), st.integers(0, 9), st.integers(0, 5)),
        st.just(None),
    ),
    max_size=60,
)


class Shelf:
    """A store in memory that remembers what it was asked."""

    def __init__(self) -> None:
        self.pools: dict[str, list[PooledPage]] = {}
        self.loads: list[str] = []

    def load(self, site: str) -> Iterable[PooledPage]:
        self.loads.append(site)
        return self.pools.get(site, [])

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        self.pools[site] = list(pages)


def page(site: str, name: object, content: object = None) -> PooledPage:
    words = f"<p>Words of {name if content is None else content}"
    return PooledPage.of(f"http://{site}.org/{name}", words)


NOISE = b85encode(Random(1).randbytes(16_000)).decode()


@given(
    arrivals,
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 6),
    st.sampled_from([0.0001, 0.003, 0.006, 1]),
    st.sampled_from([0.0001, 0.0003, 1]),
)
def test_each_page_once_and_in_order(
    events: list[tuple[str, int, int] | None],
    most: int,
    ready: int,
    held: int,
    megabytes: float,
    held_megabytes: float,
) -> None:
    pools: SitePools[int] = SitePools(
        pool=most, ready=ready, held=held, megabytes=megabytes, held_megabytes=held_megabytes
    )
    came: dict[str, list[int]] = defaultdict(list)
    went: dict[str, list[int]] = defaultdict(list)

    def take(released: list[Released[int]]) -> None:
        for each in released:
            went[each.site].append(each.entry)
            assert len(each.pool) <= most

    for number, event in enumerate(events):
        if event is None:
            take(pools.flush())
            assert not pools.held
        else:
            site, name, content = event
            came[f"{site}.org"].append(number)
            new = page(site, name, content)
            take(pools.add(new, number))
        waiting = sum(map(len, came.values())) - sum(map(len, went.values()))
        assert pools.held == waiting <= held
    take(pools.flush())
    assert went == came


@given(arrivals, st.integers(1, 5), st.integers(1, 5), st.sampled_from([0.0001, 0.006, 1]))
def test_other_sites_and_flushes_aside_a_page_meets_the_pool_of_all_before_it(
    events: list[tuple[str, int, int] | None], most: int, ready: int, megabytes: float
) -> None:
    """Nor does it matter how much memory there is."""
    pools: SitePools[int] = SitePools(pool=most, ready=ready, megabytes=megabytes)
    before: dict[str, list[PooledPage]] = defaultdict(list)
    for number, event in enumerate(events):
        if event is None:
            continue
        site, name, content = event
        new = page(site, name, content)
        before[f"{site}.org"].append(new)
        released = pools.add(new, number)
        seen = before[f"{site}.org"]
        expected = Pool(seen, most=most).pages
        assert all(each.pool == expected for each in released)
        is_ready = len(expected) >= min(ready, most) or len(seen) >= ENOUGH * min(ready, most)
        assert bool(released) == is_ready


def test_copies_are_not_waited_for_without_end() -> None:
    pools: SitePools[int] = SitePools(pool=25, ready=15)
    sizes = [len(pools.add(page("a", number, "the same"), number)) for number in range(10_000)]
    assert sizes == [0] * 59 + [60] + [1] * 9_940


def test_ready_is_more_than_there_are_pages() -> None:
    """Nothing is given out before the end, however many pages there are."""
    pools: SitePools[int] = SitePools(pool=1000, ready=1000)
    assert not any(pools.add(page("a", number), number) for number in range(200))
    found = pools.flush()
    assert [each.entry for each in found] == list(range(200))
    assert {len(each.pool) for each in found} == {200}


def test_those_who_wait_too_long() -> None:
    now = 0.0
    pools: SitePools[str] = SitePools(clock=lambda: now)
    for now, site in enumerate("abab"):
        pools.add(page(site, now), f"{site}{now:g}")
    assert pools.give_out_older(4) == []
    assert [each.entry for each in pools.give_out_older(3)] == ["a0", "a2"]
    assert [each.entry for each in pools.give_out_older(0)] == ["b1", "b3"]
    assert (pools.give_out_older(0), pools.held) == ([], 0)


# An address, and its content: near copies, copies, and addresses that are hardly any.
spilled = st.lists(
    st.one_of(
        st.tuples(
            st.sampled_from(["http://a.org/{}", "http://b.org/{}?\udcff", "http://[c/{}", "{}"]),
            st.integers(0, 9),
            st.integers(0, 5),
        ),
        st.just(None),
    ),
    max_size=60,
)


@given(spilled, st.integers(1, 5), st.integers(1, 5), st.sampled_from(["", "has a store"]))
def test_what_is_in_the_file_is_as_good_as_in_memory(
    events: list[tuple[str, int, int] | None], most: int, ready: int, has_store: str
) -> None:
    shelves = Shelf(), Shelf()
    both: list[SitePools[int]] = [
        SitePools(pool=most, ready=ready, megabytes=megabytes, store=shelf if has_store else None)
        for megabytes, shelf in zip((9, 0.0001), shelves, strict=True)
    ]
    for number, event in enumerate(events):
        if event is None:
            assert both[0].flush() == both[1].flush()
            continue
        url, name, content = event
        words = f"<p>Words of {content // 2} with the token 0000000{content}"
        new = PooledPage.of(url.format(name), words)
        assert both[0].add(new, number) == both[1].add(new, number)
        assert len(both[1]) == 1
    for pools in both:
        pools.save()
    assert shelves[0].pools == shelves[1].pools
    for shelf in shelves:
        shelf.pools = {}
    for pools in both:
        pools.save()
    assert not shelves[1].pools  # nothing is new


def test_a_pool_that_had_to_go_comes_back_from_the_store() -> None:
    shelf = Shelf()
    pools: SitePools[int] = SitePools(ready=2, megabytes=0.0001, file_megabytes=0.05, store=shelf)
    for number in range(3):
        pools.add(page("a", number, f"{NOISE} {number}"), number)
    assert not shelf.pools
    pools.add(page("b", 0), 0)
    assert set(shelf.pools) == {"a.org"}
    assert [each.site for each in pools.add(page("a", 3), 3)] == ["a.org"]  # it does not wait
    found = pools.flush()
    assert [each.site for each in found] == ["b.org"]
    pools.add(page("a", 3), 3)
    pools.save()
    assert {site: len(pages) for site, pages in shelf.pools.items()} == {"a.org": 4, "b.org": 1}
    assert shelf.loads == ["a.org", "b.org", "a.org"]
    shelf.pools = {}
    pools.save()
    assert not shelf.pools  # nothing is new


def test_a_file_that_is_full() -> None:
    """The site that was not met for longest goes, and what waits of it is given out."""
    pools: SitePools[int] = SitePools(megabytes=0.0001, file_megabytes=0.1)
    found = [
        each for number in range(9) for each in pools.add(page(f"site{number}", 1, NOISE), number)
    ]
    assert 2 < len(found) < 8
    assert [each.entry for each in found] == [*range(len(found))]
    assert [len(each.pool) for each in found] == [1] * len(found)
    assert [each.entry for each in pools.flush()] == [*range(len(found), 9)]


@pytest.mark.slow
def test_sites_with_one_page_each_take_no_more_memory() -> None:
    """The pages are small on purpose: it is what stands beside them that must not add up."""
    pools: SitePools[int] = SitePools(megabytes=0.2, held=50)

    def peak(sites: range) -> int:
        tracemalloc.reset_peak()
        for number in sites:
            pools.add(page(f"site{number}", "x"), number)
        return tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    try:
        first, later = peak(range(500)), peak(range(500, 2_500))
    finally:
        tracemalloc.stop()
    assert later < max(first, 200_000) * 1.3
    assert pools.held == 50


def pool_sizes(pools: SitePools[int], pages: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The size of the pool that the last page of each site is compared with."""
    sizes: dict[int, int] = {}
    for site, name in pages:
        for each in pools.add(page(f"site{site}", name), site):
            sizes[each.entry] = len(each.pool)
    return sizes


TURNS = [(site, name) for name in range(60) for site in range(40)]


@pytest.mark.slow
def test_pools_of_sites_in_turn_stay_as_they_are() -> None:
    pools: SitePools[int] = SitePools(megabytes=0.05)
    assert set(pool_sizes(pools, TURNS).values()) == {50}
    assert len(pools) < 5


def test_on_a_full_disk_memory_is_used(caplog: pytest.LogCaptureFixture) -> None:
    """What does not fit is dropped, and each page is given out all the same."""
    with short_files(100_000):
        pools: SitePools[int] = SitePools(megabytes=0.1)
        assert pool_sizes(pools, TURNS).keys() == set(range(40))
        assert len(pools) > 5
    (line,) = caplog.messages
    assert line.startswith("Pools stay in memory")


ELSEWHERE = """
import os, sys, tempfile
from threading import Thread
from tests.test_site_pools import *
pools = SitePools(megabytes=0.05)
threads = [Thread(target=pool_sizes, args=(pools, TURNS[:1200]))]
threads[0].start(); threads[0].join()
assert set(pool_sizes(pools, TURNS[1200:]).values()) == {50}
assert not os.listdir(tempfile.gettempdir()), "it has no name"
if os.fork() == 0:
    # It has a file of its own, and spoils nothing for the other.
    sizes = pool_sizes(pools, TURNS[:1200])
    os._exit(len(sizes) != 40)
assert os.wait()[1] == 0
assert set(pool_sizes(pools, TURNS[:40]).values()) == {50}
"""


@pytest.mark.slow
def test_threads_and_forks(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        cwd=PROJECT,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("pool", value) for value in (0, -1, 2.5)),
        *(("ready", value) for value in (0, -3)),
        ("held", -1),
        *(("megabytes", value) for value in (0, -1, float("nan"))),
        ("held_megabytes", -0.1),
    ],
)
def test_values_that_make_no_sense(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: expected a [^\n]+$"):
        SitePools(**{name: value})  # type: ignore[arg-type]  # that is what is tested

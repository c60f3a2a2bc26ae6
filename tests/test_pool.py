"""The pool of a site against a literal reading of what it promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tests.literal import literal_pool
from tplspider.pools.pool import LARGEST, Pool, PooledPage, page_site
from tplspider.web.addresses import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

# Few looks, some of them with tokens: near copies and copies are to come together often.
looks = st.sampled_from(["apples", "bees", "cars", "Log in"])
tokens = st.sampled_from(["", "81c9-02f4", "7d00-9a1b", "x"])
names = st.text("abcdefgh", min_size=1, max_size=2)
sites = st.dictionaries(names, st.tuples(looks, tokens), max_size=30)
sizes = st.integers(1, 8)


def page(name: str, content: tuple[str, str], *, taken: float = 0) -> PooledPage:
    look, token = content
    html = f"<p>{look} <i>{token}</i> <input value={token}>"
    return PooledPage.of(f"http://a.org/{name}", html, taken=taken)


def addresses(pool: Iterable[PooledPage]) -> list[str]:
    return [each.url for each in pool]


def expected(pages: Iterable[PooledPage], most: int) -> list[str]:
    places = {each.url: place_of(each.identity) for each in pages}
    return literal_pool([(each.url, each.html) for each in pages], places, most)


@given(sites, sizes, st.randoms())
def test_the_order_of_arrival_plays_no_part(
    site: dict[str, tuple[str, str]], most: int, random: Random
) -> None:
    pages = [page(name, content) for name, content in site.items()]
    wanted = expected(pages, most)
    random.shuffle(pages)
    pool = Pool(pages + pages[:3], most=most)
    assert addresses(pool) == wanted
    assert len(pool) == len(wanted)


@given(sites, sizes, st.randoms())
def test_pools_of_two_parts_make_the_pool_of_the_whole(
    site: dict[str, tuple[str, str]], most: int, random: Random
) -> None:
    pages = [page(name, content) for name, content in site.items()]
    random.shuffle(pages)
    ours = Pool(pages[: len(pages) // 2 + 2], most=most)
    theirs = Pool(pages[len(pages) // 2 :], most=most)
    assert addresses(Pool([*ours, *theirs], most=most)) == expected(pages, most)


@given(sites, sizes)
def test_adding_tells_whether_the_pool_is_another_one(
    site: dict[str, tuple[str, str]], most: int
) -> None:
    pool = Pool(most=most)
    for name, content in site.items():
        before, new = pool.pages, page(name, content)
        may_stay = pool.takes(new.place)
        changed = pool.add(new)
        assert changed == (pool.pages != before)
        assert may_stay or not changed


def test_of_an_address_the_last_content_counts() -> None:
    old, new, other = page("a", ("old", "")), page("a", ("new", "")), page("b", ("other", ""))
    pool = Pool([old, other, new])
    assert {each.html for each in pool} == {new.html, other.html}
    low, high = sorted([page("a", ("x", "")), page("b", ("y", ""))], key=lambda each: each.place)
    copy = PooledPage.of(high.url, low.html)
    pool = Pool([low, high])
    assert pool.add(copy)  # it is the other page now
    assert pool.pages == (low,)


def test_a_login_wall_leaves_room_for_what_tells_something() -> None:
    walls = [page(f"wall{number}", ("Log in", f"{number:08x}")) for number in range(500)]
    others = [page(f"page{number}", (f"About number {number}", "")) for number in range(20)]
    pool = Pool([*walls[:250], *others, *walls[250:]], most=25)
    assert {each.url for each in others} <= {*addresses(pool)}
    assert len(pool) == 25
    assert len(Pool(walls, most=25)) == 25  # where there is nothing else, they are better than none


def test_a_page_comes_back_as_it_was() -> None:
    html = "<p>Äpfel \ud800 苹果\r\n</p>\0"
    found = PooledPage.of("http://a.org/x#y", html)
    assert found.source.html == html.replace("\ud800", "?")
    assert found.identity == "http://a.org/x"


def test_addresses_that_cannot_be_parsed() -> None:
    assert page_site("http://[::1") == ""
    assert PooledPage.of("http://[::1", "x").identity == "http://[::1"
    assert page_site("https://WWW.Example.org:443/a") == "example.org"


def test_very_large_pages_are_in_no_pool() -> None:
    small, large = ("x" * size for size in (LARGEST, LARGEST + 1))
    pool = Pool(PooledPage.of(f"http://a.org/{len(html)}", html) for html in (large, small))
    assert [each.size for each in pool] == [LARGEST]

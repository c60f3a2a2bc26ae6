"""Which pages of a pool are compared with a page."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from tplspider.pools.pool import PooledPage, Signs, companions, nearest
from tplspider.search.witness import shared_directories

HOST = "http://a.org/"


def page(path: str, *links: str, text: str = "") -> PooledPage:
    shown = "".join(f"<a href='{link}'>x</a>" for link in links)
    return PooledPage.of(HOST + path, f"<body>{shown}<p>{text}")


def paths(pages: list[PooledPage]) -> list[str]:
    return [each.url.removeprefix(HOST) for each in pages]


def test_links_and_directories() -> None:
    key = page("news/1.html", "/a", "/b")
    pool = [page("x.html", "/c"), page("y.html", "/a", "/b"), page("news/2.html", "/a", "/b")]
    assert paths(companions(key, pool)) == ["news/2.html", "y.html", "x.html"]


def test_the_page_itself_is_left_out() -> None:
    key = page("news/1.html", "/a")
    old = page("news/1.html", "/a", text="As it was.")
    assert companions(key, [old]) == []
    assert companions(key, []) == []


def test_a_page_with_the_same_words_tells_nothing_about_them() -> None:
    post = "This post stands on two lists of posts, of its author and of its subject."
    foot = "<p>All pages of this site have this sentence at their foot."
    key = page("lists/1.html", "/a", text=post + foot)
    same = page("lists/2.html", "/a", text=post + foot)
    others = [page(f"posts/{n}.html", "/a", text=foot) for n in range(4)]
    assert paths(companions(key, [same, *others]))[-1] == "lists/2.html"
    # What many pages have is no reason.
    near = page("lists/3.html", "/a", text=foot)
    assert paths(companions(key, [same, *others, near]))[0] == "lists/3.html"


def test_of_equals_by_their_places() -> None:
    key = page("key.html", "/a")
    pool = [page(f"{n}.html", "/a") for n in range(9)]
    found = companions(key, pool)
    assert found == sorted(pool, key=lambda each: each.place)
    assert found == companions(key, pool[::-1])


NUMBERS = st.integers(-(2**63), 2**63 - 1)
SIGNS = st.builds(
    lambda path, links, sentences: Signs(HOST + path, path.split("/"), links, sentences),
    st.sampled_from(["", "a", "a/b", "a/c", "a/b/c"]),
    st.frozensets(st.integers(0, 6), min_size=1),
    st.dictionaries(st.integers(0, 6), st.integers(20, 60)),
)


@given(SIGNS, st.lists(SIGNS, max_size=8))
def test_literally(key: Signs, others: list[Signs]) -> None:
    pool = {page(f"{n}.html"): signs for n, signs in enumerate(others)}

    def score(signs: Signs) -> float:
        links = len(key.links & signs.links) / len(key.links | signs.links)
        counts = Counter(
            each for one in others if one.identity != key.identity for each in one.sentences
        )
        few = max(2, 0.1 * sum(one.identity != key.identity for one in others))
        same = [each for each in key.sentences if each in signs.sentences and counts[each] <= few]
        whole = sum(key.sentences.values())
        share = sum(key.sentences[each] for each in same) / whole if whole else 0
        return share - (links + shared_directories(key.identity, signs.identity))

    wanted = [each for each in pool if pool[each].identity != key.identity]
    wanted.sort(key=lambda each: (score(pool[each]), each.place))
    assert nearest(key, pool) == wanted


@given(st.frozensets(NUMBERS), st.dictionaries(NUMBERS, st.integers(0, 2**40)))
def test_signs_are_packed(links: frozenset[int], sentences: dict[int, int]) -> None:
    signs = Signs(f"{HOST}a/b.html", ["a", "b.html"], links, sentences)
    assert Signs.unpacked(signs.packed(), signs.identity) == signs


def test_signs_are_read_once() -> None:
    one = page("a/b.html", "/x", text="A sentence that is long enough to be taken.")
    assert one.packed_signs is None
    assert len(one.signs().sentences) == 1
    assert one.packed_signs == one.signs().packed()

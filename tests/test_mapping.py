from functools import cache
from itertools import combinations, pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.template_pages import KEY_URL, flat_pair, page_pairs
from tplspider.template.flat_page import FlatPage, Vocabulary, flatten
from tplspider.template.mapping import TreeMapping, common_subsequence, heaviest_alignment
from tplspider.web.html import parse_html


def mapped(key: str, other: str) -> list[int]:
    return TreeMapping(*flat_pair(key, other)).mapped


def matching(key: FlatPage, other: FlatPage) -> int:
    """The most elements that a top-down mapping can have: simple tree matching, all pairs."""

    def same(a: int, b: int) -> bool:
        return (
            key.tags[a] == other.tags[b]
            and key.texts[a] == other.texts[b]
            and (key.links[a] == other.links[b] or key.targets[a] == other.targets[b])
        )

    @cache
    def best(a: int, b: int) -> int:
        ours, theirs = key.children[a], other.children[b]
        table = [[0] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
        for i, x in enumerate(ours):
            for j, y in enumerate(theirs):
                pair = table[i][j] + (best(x, y) if same(x, y) else 0)
                table[i + 1][j + 1] = max(table[i][j + 1], table[i + 1][j], pair)
        return 1 + table[-1][-1]

    return best(0, 0)


def random_tree(random: Random, depth: int = 4) -> str:
    if not depth or random.random() < 0.25:
        return random.choice(("one", "two", "<b>three</b>", "<a href=x.html>four</a>", "<i></i>"))
    tag = random.choice(("div", "ul", "span"))
    inner = "".join(random_tree(random, depth - 1) for _ in range(random.randrange(5)))
    return f"<{tag}>{inner}</{tag}>"


def changed(random: Random, parts: list[str]) -> str:
    """A page with most of the parts, some of them elsewhere, and some others."""
    parts = [part for part in parts if random.random() < 0.8]
    for _ in range(2):
        parts.insert(random.randrange(len(parts) + 1), random_tree(random))
    return f"<body>{''.join(parts)}</body>"


@given(page_pairs())
def test_pairs_are_in_order_and_from_the_top_down(pages: tuple[str, str]) -> None:
    key, other = flat_pair(*pages)
    mapping = TreeMapping(key, other).mapped
    images = [image for image in mapping if image >= 0]
    assert images == sorted(set(images))  # one to one, in document order
    assert mapping[0] == 0
    for element, image in enumerate(mapping[1:], 1):
        if image >= 0:
            assert key.tags[element] == other.tags[image]
            assert key.texts[element] == other.texts[image]
            assert mapping[key.parents[element]] == other.parents[image]


@given(page_pairs())
def test_a_page_maps_to_itself(pages: tuple[str, str]) -> None:
    vocabulary = Vocabulary()
    key = flatten(parse_html(pages[0]), KEY_URL, vocabulary)
    again = flatten(parse_html(pages[0]), KEY_URL, vocabulary)
    assert TreeMapping(key, again).mapped == list(range(len(key.tags)))


def test_nearly_as_much_as_the_best() -> None:
    shares = []
    for seed in range(300):
        random = Random(seed)
        parts = [random_tree(random) for _ in range(5)]
        key, other = flat_pair(changed(random, parts), changed(random, parts))
        found = sum(image >= 0 for image in TreeMapping(key, other).mapped)
        best = matching(key, other)
        assert found <= best
        shares.append(found / best)
    assert sum(shares) / len(shares) >= 0.97


@pytest.mark.parametrize("count", [4, 200])
@pytest.mark.parametrize("written", ["/docs/key.html", "#", "", "http://example.org/docs/key.html"])
def test_the_entry_of_the_current_page_is_the_same_entry(count: int, written: str) -> None:
    def menu(first: str) -> str:
        rest = "".join(f"<li><a href=/docs/{i}.html>Entry {i}</a></li>" for i in range(count))
        return f"<ul><li class={len(first)}><a href='{first}'>Guide</a></li>{rest}</ul>"

    mapping = mapped(menu(written), menu("key.html"))
    assert mapping == list(range(len(mapping)))


def test_ids_and_classes_tell_elements_apart() -> None:
    sides = mapped("<div id=side><p>x</p></div><div id=main><i></i></div>", "<div id=main></div>")
    assert sides == [0, -1, -1, 1, -1]
    the_same = mapped("<div id=side><p>x</p></div>", "<div id=main><p>x</p></div>")
    assert the_same == [0, 1, 2]  # identical subtrees map as they stand
    numbered = mapped("<div id=post-12><p>x</p></div>", "<div id=post-7><p>x</p><p>y</p></div>")
    assert numbered == [0, 1, 2]
    classed = mapped("<ul class=a><li>1</ul>", "<ul class=b><li>2</ul><ul class='a c'><li>3</ul>")
    assert classed == [0, 3, -1]


@pytest.mark.parametrize("seed", range(20))
def test_a_common_subsequence_is_the_longest(seed: int) -> None:
    random = Random(seed)
    left, right = (random.choices(range(30), k=40) for _ in range(2))
    table = [[0] * 41 for _ in range(41)]
    for i in range(40):
        for j in range(40):
            table[i + 1][j + 1] = max(
                table[i][j] + (left[i] == right[j]), table[i][j + 1], table[i + 1][j]
            )
    pairs = common_subsequence(left, right)
    assert len(pairs) == table[-1][-1]
    assert pairs == sorted(pairs)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert all(left[i] == right[j] for i, j in pairs)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[dict[int, float]], int]:
    size, weights = draw(st.integers(0, 4)), st.sampled_from([1.2, 2.4, 3.0])
    columns: st.SearchStrategy[int] = st.sampled_from(range(size)) if size else st.nothing()
    return draw(st.lists(st.dictionaries(columns, weights), max_size=4)), size


def heaviest(weights: list[dict[int, float]], size: int) -> float:
    most = 0.0
    for count in range(1, min(len(weights), size) + 1):
        for left in combinations(range(len(weights)), count):
            for right in combinations(range(size), count):
                pairs = list(zip(left, right, strict=True))
                if all(j in weights[i] for i, j in pairs):
                    most = max(most, sum(weights[i][j] for i, j in pairs))
    return most


@given(tables())
def test_no_alignment_weighs_more(given_weights: tuple[list[dict[int, float]], int]) -> None:
    weights, size = given_weights
    pairs = heaviest_alignment(weights, size)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert abs(sum(weights[i][j] for i, j in pairs) - heaviest(weights, size)) < 1e-9


@pytest.mark.parametrize(("left", "right"), [(40, 40), (60, 40), (40, 60), (45, 40), (5, 40)])
def test_things_that_are_all_alike_are_taken_side_by_side(left: int, right: int) -> None:
    # With one thing more on either side the general way is taken: the pairs are the same.
    pairs = common_subsequence(["li"] * left, ["li"] * right)
    assert pairs == common_subsequence([*["li"] * left, "ours"], [*["li"] * right, "theirs"])
    assert len(pairs) >= min(left, right) - 8


@pytest.mark.parametrize("count", [30, 300])  # all pairs are compared; a common subsequence
def test_entries_that_come_and_go(count: int) -> None:
    random = Random(count)
    entries = [f"<li><a href={i}.html>Entry {i}</a></li>" for i in range(count)]
    gone = {*random.sample(range(count), count // 5)}
    come = [entry for i, entry in enumerate(entries) if i not in gone]
    for i in range(count // 5):
        come.insert(random.randrange(len(come)), f"<li><a href=x{i}.html>New {i}</a></li>")
    key, other = flat_pair(f"<ul>{''.join(entries)}</ul>", f"<ul>{''.join(come)}</ul>")
    mapping = TreeMapping(key, other).mapped
    links = [i for i, tag in enumerate(key.tags) if tag == "a"]
    unmapped = {n for n, link in enumerate(links) if mapping[link] < 0}
    assert gone <= unmapped
    # Where all pairs are compared, two items that hold nothing alike outweigh a single one that
    # is the same: as many elements map.
    assert len(unmapped - gone) <= (count // 10 if count == 30 else 0)
    assert all(key.own[link] == other.own[mapping[link]] for link in links if mapping[link] >= 0)

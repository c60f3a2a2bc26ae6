"""The heaviest alignment against all alignments there are."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from tplspider.template.mapping import heaviest_alignment

ROWS = st.integers(0, 4).flatmap(
    lambda size: st.tuples(
        st.lists(
            st.dictionaries(st.integers(0, max(size - 1, 0)), st.sampled_from([1.2, 2.4, 3.0]))
            if size
            else st.just({}),
            max_size=4,
        ),
        st.just(size),
    )
)


def heaviest(weights: list[dict[int, float]], size: int) -> float:
    """By trying all."""
    most = 0.0
    for count in range(1, min(len(weights), size) + 1):
        for left in combinations(range(len(weights)), count):
            for right in combinations(range(size), count):
                pairs = list(zip(left, right, strict=True))
                if all(j in weights[i] for i, j in pairs):
                    most = max(most, sum(weights[i][j] for i, j in pairs))
    return most


@given(ROWS)
def test_no_alignment_weighs_more(given_weights: tuple[list[dict[int, float]], int]) -> None:
    weights, size = given_weights
    pairs = heaviest_alignment(weights, size)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    assert abs(sum(weights[i][j] for i, j in pairs) - heaviest(weights, size)) < 1e-9


def test_what_weighs_the_same_goes_together_from_the_start() -> None:
    rows = [dict.fromkeys(range(3), 1.2) for _ in range(5)]
    assert heaviest_alignment(rows, 3) == [(0, 0), (1, 1), (2, 2)]
    rows[2][1] = 1.3
    assert heaviest_alignment(rows, 3) == [(0, 0), (2, 1), (3, 2)]

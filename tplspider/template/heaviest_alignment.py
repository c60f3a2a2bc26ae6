"""The alignment of two lists that weighs most: pairs in order, each with a weight of its own."""

from __future__ import annotations


def heaviest_alignment(weights: list[dict[int, float]], size: int) -> list[tuple[int, int]]:
    """Pairs of places that weigh most together, each later in both lists than the one before.

    Of each place on the left, *weights* has those on the right that it may be aligned with, of
    *size* in all. Of alignments that weigh the same, the first.
    """
    if not any(weights):
        return []
    if _are_equal(weights, size):  # rows of a table, entries of a list
        return [(place, place) for place in range(min(len(weights), size))]
    best = _best(weights, size)
    pairs = []
    i = j = 0
    while i < len(weights) and j < size:
        weight = weights[i].get(j)
        if weight and best[i][j] == best[i + 1][j + 1] + weight:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _best(weights: list[dict[int, float]], size: int) -> list[list[float]]:
    """The most that the places from i and from j on can weigh together, for all i and j."""
    below = [0.0] * (size + 1)
    best = [below]
    for row in reversed(weights):
        if row:
            line = below[:]
            most = 0.0
            places = sorted(row, reverse=True)
            for j, before in zip(places, [*places[1:], -1], strict=True):
                weight = below[j + 1] + row[j]
                if weight > most:  # noqa: PLR1730 - there may be very many pairs
                    most = weight
                place = j
                while place > before and below[place] < most:
                    line[place] = most
                    place -= 1
            below = line
        best.append(below)
    best.reverse()
    return best


def _are_equal(weights: list[dict[int, float]], size: int) -> bool:
    """Whether all pairs weigh the same: then the first go together, the second, and so on."""
    weight = weights[0].get(0)
    return all(len(row) == size and {*row.values()} == {weight} for row in weights)

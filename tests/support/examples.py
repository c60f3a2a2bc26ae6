"""How many examples property tests look at: the gate at more than people wait for."""

import os

import hypothesis

USUAL = 100
IN_GATE = bool(os.environ.get("CI"))


def examples(number: int) -> hypothesis.settings:
    """So many in the gate, and a quarter of them while somebody works."""
    return hypothesis.settings(max_examples=how_many(number))


def how_many(number: int = USUAL) -> int:
    return number if IN_GATE else number // 4

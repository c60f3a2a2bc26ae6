"""What a test is: quick, or of a kind that is slow; and how many examples property tests have."""

import os
from collections import Counter
from collections.abc import Iterable

import hypothesis
import pytest

# By what it uses; a test that starts scrapy by other means is marked by hand.
KIND_OF_FIXTURE = dict.fromkeys(("crawl", "serve", "serve_traps"), "crawl") | {"scrapyd": "deploy"}
KINDS = {"browser", "crawl", "deploy", "nightly", "spark"}
# Files with few tests, each of which takes long: at the end, all workers but one would wait.
LONG = {"test_deploy", "test_resume", "test_spark"}


def longest_first(items: list[pytest.Item]) -> None:
    """Begin with the files that take long, then with those that have many tests."""
    counts = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path.stem not in LONG, -counts[item.path], item.path))


def with_quick(cases: Iterable[object], *quick: object) -> list[object]:
    """Cases of a test that is slow, some of them marked as quick."""
    return [
        pytest.param(case, marks=pytest.mark.quick) if case in quick else case for case in cases
    ]


USUAL = 100
IN_GATE = bool(os.environ.get("CI"))


def examples(number: int) -> hypothesis.settings:
    """So many in the gate, and a quarter of them while somebody works."""
    return hypothesis.settings(max_examples=how_many(number))


def how_many(number: int = USUAL) -> int:
    return number if IN_GATE else number // 4

"""What a test is: plain Python and quick, or of a kind that is slow."""

from collections import Counter
from collections.abc import Iterable

import pytest

# By what it uses; a test that starts scrapy by other means is marked by hand.
KIND_OF_FIXTURE = {
    "clone": "deploy",
    "crawl": "crawl",
    "scrapyd": "deploy",
    "serve": "crawl",
    "serve_traps": "crawl",
}
KINDS = {"browser", "crawl", "deploy", "nightly", "spark"}
# Files with few tests, each of which takes long: at the end, all workers but one would wait.
LONG = {"test_deploy", "test_resume", "test_spark"}


def longest_first(items: list[pytest.Item]) -> None:
    """Begin with the files that take long, then with those that have many tests."""
    counts = Counter(item.path for item in items)
    items.sort(key=lambda item: (item.path.stem not in LONG, -counts[item.path], item.path))


def with_quick(cases: Iterable[object], quick: object) -> list[object]:
    """Cases of a test that is slow, one of them marked as quick."""
    return [
        pytest.param(case, marks=pytest.mark.quick) if case == quick else case for case in cases
    ]

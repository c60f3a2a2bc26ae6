"""What a test is: plain Python and quick, or of a kind that is slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

# By what it uses; a test that starts scrapy by other means is marked by hand.
KIND_OF_FIXTURE = {
    "clone": "deploy",
    "crawl": "crawl",
    "scrapyd": "deploy",
    "serve": "crawl",
    "serve_traps": "crawl",
}
KINDS = {"browser", "crawl", "deploy"}


def with_quick(cases: Iterable[object], quick: object) -> list[object]:
    """Cases of a test that is slow, one of them marked as quick."""
    return [
        pytest.param(case, marks=pytest.mark.quick) if case == quick else case for case in cases
    ]

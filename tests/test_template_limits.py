"""Pages of 100,000 elements, or many of 1 MB: extraction is bounded in time and memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.support.crawls import PROJECT
from tests.support.large_pages import SHAPES


@pytest.mark.parametrize(
    "shape",
    [pytest.param(shape, marks=[] if shape == "chain" else pytest.mark.slow) for shape in SHAPES],
)
def test_large_pages(shape: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.large_pages", shape],
        cwd=PROJECT,
        # Where coverage is measured, this is not: it would be the time of that as well.
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]  # a MemoryError, say
    # On a quiet machine none takes more than 10; what is quadratic takes hundreds.
    assert json.loads(done.stdout)["seconds"] < 60


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="measures with /proc")
def test_many_explored_pages() -> None:
    few = measure(3, "chapters")
    assert few["evidence"] == 3
    for kind in ("chapters", "copies"):
        many = measure(20, kind)
        assert many["seconds"] < 2 * few["seconds"]
        assert many["peak"] < 2 * few["peak"]


def measure(count: int, kind: str) -> dict[str, float]:
    """Seconds of CPU and MB of memory with so many explored pages of 1 MB."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.many_pages", str(count), kind],
        cwd=PROJECT,
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found

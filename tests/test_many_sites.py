import sys

import pytest

from tests.support.crawls import run_command


@pytest.mark.nightly
def test_the_benchmark_small() -> None:
    """Every promise of the benchmark that does not go by the clock, with few key pages."""
    sizes = ("--keys=40", "--sites=8", "--singles=2", "--kill=2", "--memory=5,10")
    command = (sys.executable, "-m", "benchmarks.many_sites", *sizes, "--turns=1")
    done = run_command(*command, timeout=600)
    assert done.code == 0, done.stdout + done.log
    assert done.stdout.count("right:") >= 6
    assert "wrong" not in done.stdout

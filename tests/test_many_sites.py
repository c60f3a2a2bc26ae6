import subprocess
import sys

import pytest

from tests.support.crawls import PROJECT


@pytest.mark.nightly
def test_the_benchmark_small() -> None:
    """Every promise of the benchmark that does not go by the clock, with few key pages."""
    sizes = ("--keys=40", "--sites=8", "--singles=2", "--kill=2", "--memory=5,10")
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.many_sites", *sizes, "--turns=1"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("right:") >= 6
    assert "wrong" not in done.stdout

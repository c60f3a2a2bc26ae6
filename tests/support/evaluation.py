"""``python -m benchmarks.table1``, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from tests.support.crawls import PROJECT, Crawl

if TYPE_CHECKING:
    from pathlib import Path


def run_table1(*options: str, folder: Path) -> Crawl:
    """Measure; files that the options name are in *folder*."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.table1", *options],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    return Crawl(done.returncode, done.stdout, done.stderr, folder)

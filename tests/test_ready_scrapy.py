"""The way most tests start ``scrapy`` is as good as ``python -m scrapy``."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.ready_scrapy import scrapy_command

if TYPE_CHECKING:
    from pathlib import Path

# Tells all that is its own, and what of ours was there before it.
TELL = """
import os, sys
ours = [name for name in sys.modules if name.partition(".")[0] in ("tplspider", "settings")]
given = sys.stdin.read() if not sys.stdin.closed else None
print(__name__, sys.argv, os.getcwd(), sys.path[0], os.environ["OF"], ours, given, flush=True)
print(sys.modules["__main__"].__spec__.name, flush=True)
print("ä", file=sys.stderr)
"""
ENDS = {"status": "sys.exit(7)", "signal": "os.kill(os.getpid(), 9)"}


@pytest.mark.crawl
@pytest.mark.parametrize("end", ENDS)
def test_it_is_python_m_scrapy(tmp_path: Path, end: str) -> None:
    (tmp_path / "tell.py").write_text(TELL + ENDS[end])
    env = {**os.environ, "OF": "this test"}
    known, found = (
        subprocess.run(
            [*command, "runspider", "tell.py", "-sX=a b"],
            cwd=tmp_path,
            env=env,
            input="some words",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        for command in ([sys.executable, "-m", "scrapy"], scrapy_command(env))
    )
    assert f"{tmp_path}" in known.stdout
    assert " some words\nscrapy.__main__\n" in known.stdout
    assert found.stdout == known.stdout
    assert found.returncode == known.returncode
    assert found.stderr.splitlines()[-1] == known.stderr.splitlines()[-1]

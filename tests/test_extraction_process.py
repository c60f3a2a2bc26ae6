"""Workers and the process that started them: how one ends with the other, and finds the package."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from typing import TYPE_CHECKING

import pytest
from conftest import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.crawl  # processes of their own

TESTS = PROJECT / "tests"


def start(*arguments: str) -> subprocess.Popen[str]:
    """A process that has started a worker, in a group of their own."""
    process = subprocess.Popen(
        [sys.executable, TESTS / "worker_parent.py", *arguments],
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout
    assert process.stdout.readline() == "started\n"
    return process


def wait_for(file: Path) -> None:
    for _ in range(1200):
        if file.exists():
            return
        time.sleep(0.05)
    pytest.fail(f"there is no {file}")


@pytest.mark.parametrize("order", [pytest.param("idle", marks=pytest.mark.slow), "file", "spin"])
def test_a_worker_ends_with_its_parent(tmp_path: Path, order: str) -> None:
    """Standard error is the worker's as well: it is closed when both are gone."""
    file = tmp_path / "started"
    process = start(*(["idle"] if order == "idle" else [f"{order} {file}", "2"]))
    if order != "idle":
        wait_for(file)
    process.kill()
    assert process.communicate(timeout=60) == ("", "")


@pytest.mark.slow
def test_a_worker_ends_with_its_parent_before_the_time_is_up(tmp_path: Path) -> None:
    file = tmp_path / "started"
    process = start(f"file {file}")
    wait_for(file)
    process.kill()
    assert process.communicate(timeout=60) == ("", "")


def test_ctrl_c_is_for_the_parent_alone(tmp_path: Path) -> None:
    file = tmp_path / "go on"
    process = start(f"wait {file}")
    os.killpg(process.pid, signal.SIGINT)  # as it starts
    wait_for(tmp_path / "go on.waiting")
    os.killpg(process.pid, signal.SIGINT)  # at work
    time.sleep(0.2)
    file.touch()
    out, error = process.communicate(timeout=60)
    assert out == f"interrupted\ninterrupted\nwait {file}\n"
    assert error == ""
    assert process.returncode == 0


def test_a_worker_has_memory_of_its_own() -> None:
    """Its parent held more than a worker may, which is no concern of the worker."""
    out, error = start("fat").communicate(timeout=60)
    assert (out, error) == ("sleep 0.5\n", "")


@pytest.mark.slow
def test_the_package_comes_from_where_it_came_from_here(tmp_path: Path) -> None:
    """As in a job of scrapyd: a zip file that was put on the path when the process ran already."""
    egg = tmp_path / "tplspider.egg"
    with zipfile.ZipFile(egg, "w") as archive:
        for file in (PROJECT / "tplspider").rglob("*.py"):
            archive.write(file, file.relative_to(PROJECT))
    # What lies about in the current folder is not taken for a module.
    (tmp_path / "pickle.py").write_text("raise RuntimeError")
    code = (
        "import runpy, sys;"
        f" sys.path[:] = [{str(egg)!r}, {str(TESTS)!r}, *sys.path[1:]];"
        " sys.argv[1:] = ['sleep 0', '60', 'odd_extractors.where'];"
        " runpy.run_module('worker_parent', run_name='__main__')"
    )
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stderr == ""
    assert done.stdout == f"started\n{egg / 'tplspider' / '__init__.py'}\n"

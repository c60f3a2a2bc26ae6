"""Someone who follows a guide's commands: with python3, but none of our programs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

from tests.support.scrapyd_server import SCRIPTS, environment

PROGRAMS = {"scrapy", "scrapyd", "scrapyd-client", "scrapyd-deploy"}


def furnish(venv: Path) -> None:
    """Put the packages of the tests into a virtual environment, so that pip finds them there."""
    (packages,) = venv.glob("lib/python*/site-packages")
    paths = [path for path in sys.path if path.endswith("-packages")]
    (packages / "of_the_tests.pth").write_text("\n".join(paths) + "\n")
    # Python 3.11 brings a setuptools of its own, which would come first and is too old.
    (packages / "distutils-precedence.pth").unlink(missing_ok=True)
    for name in ("setuptools*", "pkg_resources", "_distutils_hack"):
        for folder in packages.glob(name):
            shutil.rmtree(folder)
    for program in entry_points(group="console_scripts"):
        if program.name in PROGRAMS:
            script = venv / "bin" / program.name
            script.write_text(
                f"#!{venv / 'bin' / 'python'}\nimport sys\n"
                f"from {program.module} import {program.attr}\nsys.exit({program.attr}())\n"
            )
            script.chmod(0o755)


def a_readers_variables(home: Path) -> dict[str, str]:
    """Those of a person who has python3, but none of our programs, and no network for pip."""
    programs = home / "bin"
    programs.mkdir()
    python = programs / "python3"
    base = sys._base_executable  # type: ignore[attr-defined]  # behind a virtual environment
    python.write_text(f'#!/bin/sh\nexec "{base}" "$@"\n')
    python.chmod(0o755)
    others = [path for path in os.environ["PATH"].split(os.pathsep) if Path(path) != SCRIPTS]
    variables = environment(home, PATH=os.pathsep.join([str(programs), *others]))
    for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"):
        variables.pop(name, None)
    return {**variables, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def press_ctrl_c(process: subprocess.Popen[bytes]) -> None:
    """Ctrl-C, which all programs in a terminal get; none is left running that does not mind it."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        process.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise

"""Bytecode for the hundreds of processes that the tests start."""

import os
import shutil
import sys
import tempfile
from pathlib import Path

import pytest


def keep_bytecode(config: pytest.Config) -> None:
    """Where Python is not to write bytecode beside the code, have it written into pytest's cache.

    Without any, every crawl compiles the whole project before it starts, and so does every worker
    of pytest with all tests.
    """
    cache = getattr(config, "cache", None)  # there is none with -p no:cacheprovider
    if not sys.dont_write_bytecode or cache is None:
        return
    folder: Path = cache.mkdir("bytecode")
    # Copies of the project that tests made the last time.
    shutil.rmtree(folder.joinpath(*Path(tempfile.gettempdir()).parts[1:]), ignore_errors=True)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(folder)
    sys.dont_write_bytecode = False

"""Environments for checkouts, each made from its own requirements and kept for the next time."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ENVIRONMENTS = Path.home() / ".cache" / "tplspider-environments"
_DEVELOPMENT = "requirements-dev.txt"
_READY = "ready"  # a file of an environment that is whole


def python_of(folder: Path, environments: Path) -> Path:
    """The Python of an environment with the requirements of a checkout; it is made if need be."""
    if not (folder / _DEVELOPMENT).is_file():
        raise SystemExit(f"{folder} is not a checkout: it has no {_DEVELOPMENT}")
    place = environments / name_of(folder)
    python = place / "bin" / "python"
    if not (place / _READY).is_file():
        print(f"An environment for {folder} is made in {place}", file=sys.stderr, flush=True)
        rmtree(place, ignore_errors=True)
        venv.create(place, with_pip=True, symlinks=True)
        done = subprocess.run(  # noqa: S603 - our own command
            [python, "-m", "pip", "install", "-qq", "-r", _DEVELOPMENT], cwd=folder, check=False
        )
        if done.returncode:
            raise SystemExit(f"{folder / _DEVELOPMENT} cannot be installed")
        (place / _READY).touch()
    return python


def name_of(folder: Path) -> str:
    """The same for checkouts with the same requirements, unless these install the checkout."""
    digest = hashlib.sha256(sys.version.encode())
    for file in _files(folder):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(folder)} {len(content)} ".encode() + content)
        if any(line.startswith((b"-e", b"--editable", b".")) for line in content.splitlines()):
            digest.update(str(folder).encode())
    return digest.hexdigest()[:16]


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(folder.glob("requirements*.txt"))
    yield from sorted((folder / "requirements").glob("*.txt"))
    yield from (file for file in (folder / "pyproject.toml", folder / "setup.py") if file.is_file())

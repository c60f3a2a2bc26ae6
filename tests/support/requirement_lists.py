"""What the project's own files say that is to be installed."""

import tomllib

from packaging.requirements import Requirement

from tests.support.crawls import PROJECT


def listed(file: str) -> set[Requirement]:
    return {Requirement(line) for line in (PROJECT / file).read_text("utf-8").splitlines()}


def extras() -> dict[str, set[Requirement]]:
    tables = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))
    found = tables["project"]["optional-dependencies"]
    return {name: {Requirement(line) for line in lines} for name, lines in found.items()}

"""The examples in docstrings. Only modules that have some are looked at; pytest looks at all."""

import doctest
import importlib

import pytest

from tests.support.crawls import PROJECT

# Those of jobs for Spark would need it, which need not be installed.
MODULES = [
    ".".join(path.relative_to(PROJECT).with_suffix("").parts)
    for folder in ("tplspider", "tests/support")
    for path in sorted((PROJECT / folder).rglob("*.py"))
    if "spark" not in path.relative_to(PROJECT).parts and "\n    >>> " in path.read_text("utf-8")
]


def test_there_are_some() -> None:
    assert len(MODULES) > 15


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    found = doctest.testmod(importlib.import_module(name.removesuffix(".__init__")))
    assert found.attempted
    assert not found.failed  # what they are is printed

"""The tables of arguments and settings in docs/, made from the models in the code.

``python -m tests.support.reference_tables`` writes them; test_docs.py fails where they differ.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from tests.support.crawls import PROJECT
from tplspider.arguments import Arguments, Config

if TYPE_CHECKING:
    from pathlib import Path


def table(model: type[Any], label: str) -> str:
    """A row for each field: its name, default and help."""
    rows = [
        f"| `{name(each.name, label)}` | {shown(each.default)} | {each.metadata['help']} |\n"
        for each in fields(model)
    ]
    return f"| {label} | default | meaning |\n|---|---|---|\n{''.join(rows)}"


def name(field: str, label: str) -> str:
    return f"TPLSPIDER_{field.upper()}" if label == "setting" else field


def shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str):
        return f"`{default}`" if default else "none"
    return f"{default:g}" if isinstance(default, int | float) else "none"


def with_tables() -> dict[Path, str]:
    """The pages that have such a table, with the table as it should be."""
    found = {}
    for page, model, label in (("usage", Arguments, "argument"), ("settings", Config, "setting")):
        path = PROJECT / "docs" / f"{page}.md"
        old = re.compile(rf"^\| {label} \| default \| meaning \|\n(?:\|.*\n)+", re.MULTILINE)
        before, after = old.split(path.read_text("utf-8"))
        found[path] = before + table(model, label) + after
    return found


if __name__ == "__main__":
    for path, text in with_tables().items():
        path.write_text(text, "utf-8")

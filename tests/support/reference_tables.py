"""The tables of docs/reference.md that are made from the code: arguments, settings, outcomes.

``python -m tests.support.reference_tables`` writes them; test_docs.py fails where they differ.
"""

import re
from dataclasses import fields
from typing import Any

from tests.support.crawls import PROJECT
from tplspider.arguments import Arguments, Config
from tplspider.report.words import REASONS, key_page_advice, reason_words

PAGE = PROJECT / "docs" / "reference.md"
OF_LINKS = ("key-page",)
STATUSES = ("http-403", "http-404", "http-500")


def rows_of(model: type[Any], name: str) -> str:
    """A row for each field: its name, default and help."""
    return "".join(
        f"| `{name.format(each.name.upper() if name != '{}' else each.name)}` "
        f"| {shown(each.default)} | {each.metadata['help']} |\n"
        for each in fields(model)
    )


def shown(default: object) -> str:
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, str):
        return f"`{default}`" if default else "none"
    return f"{default:g}" if isinstance(default, int | float) else "none"


def outcomes() -> str:
    names = sorted({*REASONS, *STATUSES} - {*OF_LINKS})
    rows = "".join(f"| `{x}` | {reason_words(x)} | {key_page_advice(x)} |\n" for x in names)
    # The text above says it.
    return rows.replace(" of the site as the key page", "").replace(", or choose another page", "")


TABLES = {
    "| argument | default | meaning |": rows_of(Arguments, "{}"),
    "| setting | default | meaning |": rows_of(Config, "TPLSPIDER_{}"),
    "| outcome | meaning | what to try with a key page |": outcomes(),
}


def with_tables() -> str:
    text = PAGE.read_text("utf-8")
    for header, rows in TABLES.items():
        before, line, after = re.split(rf"({re.escape(header)}\n\|[-|]+\n)(?:\|.*\n)*", text)
        text = before + line + rows + after
    return text


if __name__ == "__main__":
    PAGE.write_text(with_tables(), "utf-8")

"""Texts from the web, made fit for the files that they are written to."""

from __future__ import annotations

import re
from typing import Any

# Characters that XML 1.0 cannot hold (https://www.w3.org/TR/xml/#charsets), among them the lone
# surrogates that UTF-8 cannot encode.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# What a spreadsheet takes for the start of a formula (OWASP, "CSV Injection").
_NUMBER = re.compile(r"[+-][0-9.,]*")
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def storable(text: str) -> str:
    r"""A text without the characters that would make a file of any format invalid.

    >>> storable("a\x00b\ud800c")
    'abc'
    """
    return _NO_XML.sub("", text)


def storable_value(value: Any) -> Any:
    """A value of an item, with all texts in it made storable."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [storable_value(entry) for entry in value]
    if isinstance(value, dict):
        return {key: storable_value(entry) for key, entry in value.items()}
    return value


def safe_cell(text: str) -> str:
    """A text for a cell of CSV: one that a spreadsheet would run starts with an apostrophe.

    >>> safe_cell("=1+1"), safe_cell("1+1"), safe_cell("-73.98")
    ("'=1+1", '1+1', '-73.98')
    """
    runs = text.startswith(_FORMULA_STARTS) and not _NUMBER.fullmatch(text)
    return f"'{text}" if runs else text

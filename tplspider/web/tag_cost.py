"""Tags with so many attributes that parsing them would take minutes.

libxml2 compares each attribute of a tag with all before it: 16,000 of them take it a second, and
100,000, which fit into a page of 700 kB, some minutes, during which nothing else happens.
"""

from __future__ import annotations

import re

MAX_COST = 100_000_000  # attributes, squared, of all large tags: some tenths of a second

_SHORT = 4000  # bytes: what has fewer has fewer than 2,000 attributes
_VALUE = rb"""=\s*+(?:"[^"]*+"|'[^']*+')"""  # in quotes, where a ">" does not end the tag
_ANY_VALUE = re.compile(_VALUE + rb"|=\s*+[^\s>]*+")
_TAG = re.compile(rb"<[a-zA-Z](?:[^>=]++|" + _VALUE + rb"|=)*+")
_NAME = re.compile(rb"""[^\s=/"']+""")
_UNTAGGED = re.compile(rb"<!--.*?-->|<(script|style)\b.*?</\1", re.DOTALL | re.IGNORECASE)


def is_too_costly(html: bytes) -> bool:
    """Whether parsing the tags of a page would take too long.

    >>> is_too_costly(b"<p>" * 20_000), is_too_costly(b"<p " + b"a " * 20_000 + b">")
    (False, True)
    """
    if len(html) <= 2 * MAX_COST**0.5:
        return False
    # A script may have a "<" and no ">" for long: it is looked at only if there is a need to.
    return _cost(html) > MAX_COST and _cost(_UNTAGGED.sub(b" ", html)) > MAX_COST


def _cost(html: bytes) -> int:
    large = (found[0] for found in _TAG.finditer(html) if found.end() - found.start() > _SHORT)
    return sum(len(_NAME.findall(_ANY_VALUE.sub(b" ", tag))) ** 2 for tag in large)

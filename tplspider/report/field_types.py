"""Whether values that were read from a file are what their annotations say."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints, is_typeddict


def check_type(value: Any, hint: Any, name: str) -> None:
    """Raise ValueError, in one line, if *value* is not what *hint* says. *name* is what it is.

    >>> check_type([1, 2], list[int], "links_to")
    >>> check_type({"rank": "1"}, dict[str, int], "row")
    Traceback (most recent call last):
    ...
    ValueError: row['rank'] is not an int
    """
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return
    if origin is UnionType:
        _check_union(value, inner, name)
    elif is_typeddict(hint):
        check_fields(value, get_type_hints(hint), name)
    elif origin is list:
        _check_plain(value, list, name)
        for place, entry in enumerate(value):
            check_type(entry, inner[0], f"{name}[{place}]")
    elif origin is dict:
        _check_plain(value, dict, name)
        for key, entry in value.items():
            check_type(entry, inner[1], f"{name}[{key!r:.50}]")
    else:
        _check_plain(value, hint, name)


def check_fields(value: Any, hints: dict[str, Any], name: str) -> None:
    """The same for a mapping with a type for each of its fields; it may have others as well."""
    _check_plain(value, dict, name)
    if missing := [field for field in hints if field not in value]:
        raise ValueError(f"{name} lacks {', '.join(missing)}")
    for field, hint in hints.items():
        check_type(value[field], hint, f"{field} of {name}")


def _check_union(value: Any, hints: tuple[Any, ...], name: str) -> None:
    if value is None and NoneType in hints:
        return
    (hint,) = (hint for hint in hints if hint is not NoneType)
    check_type(value, hint, name)


def _check_plain(value: Any, kind: type, name: str) -> None:
    is_bool = isinstance(value, bool)
    if kind is float and isinstance(value, int) and not is_bool:
        return
    if not isinstance(value, kind) or (is_bool and kind is not bool):
        article = "an" if kind.__name__[0] in "aeiou" else "a"
        raise ValueError(f"{name} is not {article} {kind.__name__}")

"""Values put into the fields of items, of whatever kind: also of those that cannot be changed."""

from __future__ import annotations

import dataclasses
import sys
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_HASH = "_attrs_cached_hash"  # what attrs keeps, of a class that asks for it


def undeclared_fields(item_class: type, names: Iterable[str]) -> list[str]:
    """Those of the fields that items of a class cannot have: a dict can have any."""
    declared = ItemAdapter.get_field_names_from_class(item_class)
    return [] if declared is None else [name for name in names if name not in declared]


def filled(item: Any, values: Mapping[str, object]) -> Any:
    """The item with these values: the same one, or a changed copy of one that is frozen.

    Where that cannot be done, the item is as it was, and whatever was raised is raised.
    """
    adapter = ItemAdapter(item)
    before: dict[str, object] = {}
    new: list[str] = []
    try:
        for name, value in values.items():
            if name in adapter:
                before[name] = adapter[name]
            else:
                new.append(name)
            adapter[name] = value
    except Exception as error:
        _restore(adapter, before, new)
        if (changed := _changed_copy(item, values, error)) is not None:
            return changed
        raise
    return item


def _restore(adapter: ItemAdapter, before: Mapping[str, object], new: Iterable[str]) -> None:
    # What could not be set has not changed, and cannot be set back.
    for name, value in before.items():
        with suppress(Exception):
            adapter[name] = value
    for name in new:
        with suppress(Exception):
            del adapter[name]


def _changed_copy(item: Any, values: Mapping[str, object], error: Exception) -> Any:
    """A copy with these values of an item that is frozen; None of one that is not."""
    kind: Any = type(item)
    if dataclasses.is_dataclass(kind):
        frozen = isinstance(error, dataclasses.FrozenInstanceError)
        return _copy_with(item, values) if frozen else None
    if hasattr(kind, "model_fields"):  # pydantic, which may not be there to ask
        frozen = kind.model_config.get("frozen") or any(
            kind.model_fields[name].frozen for name in values
        )
        return item.model_copy(update=dict(values)) if frozen else None
    attr: Any = sys.modules.get("attr")  # imported already if any class is made by it
    if attr and attr.has(kind) and isinstance(error, attr.exceptions.FrozenError):
        return _copy_with(item, values)
    return None


def _copy_with(item: Any, values: Mapping[str, object]) -> Any:
    """A copy that differs in these values alone: to construct one would do again what that does."""
    changed = copy(item)
    for name, value in values.items():
        object.__setattr__(changed, name, value)
    if hasattr(changed, _HASH):
        object.__setattr__(changed, _HASH, None)
    return changed

"""Cycles are collected now and then, and not by a process that asked for peace."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING

import pytest

from tplspider.old.crawl.garbage import GarbageCollection

if TYPE_CHECKING:
    from collections.abc import Iterator


class Knot:
    def __init__(self) -> None:
        self.itself = self


def old_garbage() -> weakref.ref[Knot]:
    """A cycle that only a full collection finds."""
    knot = Knot()
    gc.collect()
    return weakref.ref(knot)


@pytest.fixture
def without_collections() -> Iterator[None]:
    """Python's own are out of the way: its generation of old objects is not looked through."""
    before = gc.get_threshold()
    gc.set_threshold(before[0], before[1], 1_000_000)
    yield
    gc.set_threshold(*before)
    gc.enable()


@pytest.mark.usefixtures("without_collections")
def test_a_cycle_is_collected_and_the_next_one_has_to_wait() -> None:
    collection = GarbageCollection()
    first = old_garbage()
    collection.collect()
    assert first() is None
    second = old_garbage()
    collection.collect()
    assert second() is not None


@pytest.mark.usefixtures("without_collections")
def test_who_switched_collection_off_meant_it() -> None:
    garbage = old_garbage()
    gc.disable()
    GarbageCollection().collect()
    assert garbage() is not None

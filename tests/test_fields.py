"""Fields of other people's items: settings, items of every kind, pages that are kept."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import attr
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field
from scrapy import Field as ItemField
from scrapy import Item
from scrapy.settings import Settings
from tplspider.old.crawl.fields.awaited_count import AwaitedCount
from tplspider.old.crawl.fields.field_settings import CHOICES, FieldSettings
from tplspider.old.crawl.fields.item_fields import filled, undeclared_fields
from tplspider.old.crawl.fields.page_shelf import PageShelf

from tests.support.full_disk import short_files
from tplspider.pools.pool import PooledPage

if TYPE_CHECKING:
    from collections.abc import Callable

VALUES = {"text": "words", "many": 3}


class OfScrapy(Item):
    text = ItemField()
    many = ItemField()


@dataclass
class Plain:
    text: str = ""
    many: int = -1


@dataclass(frozen=True, slots=True)
class Frozen:
    text: str = ""
    many: int = -1


@dataclass(frozen=True)
class NotInInit:
    text: str = ""
    many: int = field(default=-1, init=False)


@dataclass(frozen=True)
class Made:
    """What is made of others does not change with them."""

    url: str
    text: str = ""
    many: int = -1
    id: object = field(default_factory=object, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "url", f"{self.url}#")


def with_mark(url: str) -> str:
    return f"{url}#"


@attr.frozen(cache_hash=True)
class MadeByAttrs:
    url: str = attr.field(converter=with_mark)
    text: str = ""
    many: int = -1
    id: object = attr.field(factory=object, init=False)


@dataclass
class NoSetter:
    text: str = ""
    many: int = -1

    def __setattr__(self, name: str, value: object) -> None:
        if name == "many" and "many" in vars(self):
            raise AttributeError("no setter")
        object.__setattr__(self, name, value)


@attr.define
class OfAttrs:
    text: str = ""
    many: int = -1


@attr.frozen
class FrozenAttrs:
    text: str = ""
    many: int = -1


@attr.define
class FrozenAttribute:
    text: str = ""
    many: int = attr.field(default=-1, on_setattr=attr.setters.frozen)


class OfPydantic(BaseModel):
    text: str = ""
    many: int = -1


class FrozenPydantic(OfPydantic):
    model_config = ConfigDict(frozen=True)


class FrozenField(BaseModel):
    text: str = ""
    many: int = Field(default=-1, frozen=True)


class Checked(BaseModel):
    model_config = ConfigDict(validate_assignment=True)
    text: str = ""
    many: str = ""  # a number is not one


def content(item: Any) -> tuple[object, object]:
    if isinstance(item, dict | Item):
        return item.get("text", ""), item.get("many", -1)
    return item.text, item.many


@pytest.mark.parametrize("kind", [dict, OfScrapy, Plain, OfAttrs, OfPydantic])
def test_an_item_is_filled(kind: Callable[[], Any]) -> None:
    item = kind()
    assert filled(item, VALUES) is item
    assert content(item) == ("words", 3)


@pytest.mark.parametrize(
    "kind", [Frozen, NotInInit, FrozenAttrs, FrozenAttribute, FrozenPydantic, FrozenField]
)
def test_of_one_that_is_frozen_there_is_a_changed_copy(kind: Callable[[], Any]) -> None:
    item = kind()
    copy = filled(item, VALUES)
    assert type(copy) is kind
    assert content(copy) == ("words", 3)
    assert content(item) == ("", -1)


@pytest.mark.parametrize("kind", [Made, MadeByAttrs])
def test_a_changed_copy_is_not_made_again(kind: Callable[[str], Any]) -> None:
    item = kind("u")
    before = hash(item)
    changed = filled(item, VALUES)
    assert (changed.url, changed.id) == ("u#", item.id)
    assert content(changed) == ("words", 3)
    assert hash(changed) != before == hash(item)


@pytest.mark.parametrize("kind", [Checked, NoSetter])
def test_one_that_takes_no_value_is_as_it_was(kind: Callable[[], Any]) -> None:
    item = kind()
    before = content(item)
    with pytest.raises((ValueError, AttributeError)):
        filled(item, VALUES)
    assert content(item) == before


def test_a_dict_that_takes_no_value_has_no_new_keys() -> None:
    class Picky(dict[str, object]):
        def __setitem__(self, name: str, value: object) -> None:
            if name == "many":
                raise RuntimeError("no")
            super().__setitem__(name, value)

    item = Picky(other=1)
    with pytest.raises(RuntimeError):
        filled(item, VALUES)
    assert item == {"other": 1}


@pytest.mark.parametrize("kind", [OfScrapy, Plain, Frozen, OfAttrs, OfPydantic])
def test_undeclared_fields_are_named(kind: type) -> None:
    assert undeclared_fields(kind, ["text", "else", "many"]) == ["else"]
    assert undeclared_fields(dict, ["text", "else"]) == []


@pytest.mark.parametrize("given_as", [{"a": "title"}, '{"a": "title"}'])
def test_fields_may_come_as_json(given_as: object) -> None:
    settings = Settings({"TPLSPIDER_FIELDS": given_as, "TPLSPIDER_HELD_MB": "0"})
    assert FieldSettings.of(settings) == FieldSettings({"a": "title"}, held_mb=0)


@pytest.mark.parametrize("value", [None, "", "{}", {}])
def test_no_fields(value: object) -> None:
    assert FieldSettings.of(Settings({"TPLSPIDER_FIELDS": value})).fields == {}


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("FIELDS", "[1]", "TPLSPIDER_FIELDS='[1]': expected item fields and what goes in, "),
        ("FIELDS", 7, "TPLSPIDER_FIELDS=7: expected item fields and what goes in, "),
        ("FIELDS", {"a": "key_url"}, "TPLSPIDER_FIELDS: a is to be 'key_url': expected one of "),
        ("FIELDS", {"a": ["title"]}, "TPLSPIDER_FIELDS: a is to be ['title']: did you mean "),
        ("FIELDS", {1: "title"}, "TPLSPIDER_FIELDS: 1 is not the name of an item field"),
        ("HELD_ITEMS", "-1", "TPLSPIDER_HELD_ITEMS='-1': expected a whole number, 0 or more"),
        ("HELD_SECONDS", "x", "TPLSPIDER_HELD_SECONDS='x': expected a number of seconds"),
        ("HELD_MB", "x", "TPLSPIDER_HELD_MB='x': expected a whole number, 0 or more"),
        ("POOL_MB", 0, "TPLSPIDER_POOL_MB=0: expected a whole number, 1 or more"),
    ],
)
def test_a_wrong_setting_is_told_in_a_line(name: str, value: object, line: str) -> None:
    with pytest.raises(ValueError, match=rf"^{re.escape(line)}[^\n]*$"):
        FieldSettings.of(Settings({f"TPLSPIDER_{name}": value}))


def test_what_a_field_can_be() -> None:
    assert {"main_text", "main_html", "content_text", "title", "evidence"} <= {*CHOICES}
    assert not {"search_id", "key_html"} & {*CHOICES}


@given(st.lists(st.tuples(st.binary(max_size=300), st.booleans()), max_size=20), st.integers(0, 3))
def test_the_shelf_gives_back_what_it_was_given(
    steps: list[tuple[bytes, bool]], kilobytes: int
) -> None:
    """In any order, whether in memory or in the file; and memory is kept to its bound."""
    shelf = PageShelf(kilobytes / 1000)
    kept = []
    for number, (html, takes) in enumerate(steps):
        page = PooledPage.of(f"http://a.test/{number}", html.hex())
        kept.append((shelf.put(page), page))
        assert shelf.in_memory <= kilobytes * 1000
        if takes:
            shelved, page = kept.pop(0)
            assert shelf.take(shelved).packed == page.packed
    for shelved, page in kept:
        assert shelf.take(shelved).packed == page.packed
    assert shelf.in_memory == 0
    shelf.close()


def test_where_the_disk_is_full_pages_stay_in_memory(
    caplog: pytest.LogCaptureFixture,
) -> None:
    shelf = PageShelf(0)
    noise = [bytes((n * i * i) % 251 for i in range(60_000)).hex() for n in range(1, 30)]
    pages = [PooledPage.of(f"http://a.test/{n}", text) for n, text in enumerate(noise)]
    pages = [PooledPage(p.url, p.identity, p.place, p.digest, p.html.encode()) for p in pages]
    with short_files(200_000):
        kept = [shelf.put(page) for page in pages]
    assert 0 < shelf.in_file < len(pages)
    assert shelf.in_memory > 0
    assert [shelf.take(shelved).packed for shelved in kept] == [page.packed for page in pages]
    assert len(caplog.messages) == 1
    assert "in memory, not in a file" in caplog.text
    shelf.close()


def test_a_count_that_is_waited_for() -> None:
    async def run() -> list[str]:
        count, seen = AwaitedCount(), []
        for _ in range(3):
            count.add()

        async def wait(most: int) -> None:
            await count.at_most(most)
            seen.append(f"{most} at {count.value}")

        tasks = [asyncio.create_task(wait(most)) for most in (0, 2, 1, 3)]
        tasks.append(asyncio.create_task(wait(0)))
        await asyncio.sleep(0)
        tasks.pop().cancel()
        for _ in range(3):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            count.remove()
        await asyncio.gather(*tasks)
        return seen

    assert asyncio.run(run()) == ["3 at 3", "2 at 2", "1 at 1", "0 at 0"]

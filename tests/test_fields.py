"""TPLSPIDER_FIELDS: what it may be, and items of every kind that take the values or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import attr
import pytest
from pydantic import BaseModel, ConfigDict, Field
from scrapy import Field as ItemField
from scrapy import Item
from scrapy.settings import Settings

from tplspider.arguments import FIELD_CONTENTS, Config
from tplspider.fields import filled, undeclared_fields

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
class Made:
    """A value that a constructor makes of others: a copy does not make it again."""

    text: str = ""
    many: int = field(default=-1, init=False)
    made: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.made.append(self.text)


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


class Picky(dict[str, Any]):
    def __setitem__(self, name: str, value: object) -> None:
        if name == "many":
            raise RuntimeError("no")
        super().__setitem__(name, value)


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
    "kind", [Frozen, Made, FrozenAttrs, FrozenAttribute, FrozenPydantic, FrozenField]
)
def test_a_frozen_item_is_replaced_by_a_changed_copy(kind: Callable[[], Any]) -> None:
    item = kind()
    copy = filled(item, VALUES)
    assert type(copy) is kind
    assert content(copy) == ("words", 3)
    assert content(item) == ("", -1)
    assert getattr(copy, "made", [""]) == [""]


@pytest.mark.parametrize("kind", [Checked, Picky])
def test_an_item_that_takes_no_value_is_as_it_was(kind: Callable[[], Any]) -> None:
    item = kind()
    before = content(item)
    with pytest.raises((ValueError, RuntimeError)):
        filled(item, VALUES)
    assert content(item) == before
    assert not isinstance(item, dict) or not item


@pytest.mark.parametrize("kind", [OfScrapy, Plain, Frozen, OfAttrs, OfPydantic])
def test_undeclared_fields_are_named(kind: type) -> None:
    assert undeclared_fields(kind, ["text", "else", "many"]) == ["else"]
    assert undeclared_fields(dict, ["text", "else"]) == []


@pytest.mark.parametrize("given", [{"a": "title"}, '{"a": "title"}', None, "", "{}", {}])
def test_fields_may_come_as_json(given: object) -> None:
    read = Config.of(Settings({"TPLSPIDER_FIELDS": given})).fields
    assert read == ((("a", "title"),) if given and "a" in given else ())  # type: ignore[operator]


@pytest.mark.parametrize(
    "given", ["[1]", 7, "text", {"a": "key_url"}, {"a": ["title"]}, {1: "title"}, '{"": "title"}']
)
def test_wrong_fields(given: object) -> None:
    with pytest.raises(ValueError, match=r"^TPLSPIDER_FIELDS: expected [^\n]*$"):
        Config.of(Settings({"TPLSPIDER_FIELDS": given}))


def test_what_a_field_can_be() -> None:
    assert {"main_text", "main_html", "content_text", "title", "evidence"} <= {*FIELD_CONTENTS}
    assert not {"search_id", "key_html"} & {*FIELD_CONTENTS}

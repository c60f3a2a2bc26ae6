"""Our own settings: what they may be, and that a wrong one is named."""

from __future__ import annotations

from dataclasses import Field, fields, replace
from typing import Any

import pytest
from scrapy.settings import Settings

from tplspider.arguments import Config

NOT_TEXTS = [field for field in fields(Config) if not isinstance(field.default, str)]


def read(field: str, value: object) -> Config:
    return Config.of(Settings({f"TPLSPIDER_{field.upper()}": value}))


@pytest.mark.parametrize("field", NOT_TEXTS, ids=lambda field: field.name)
@pytest.mark.parametrize("value", ["abc", "a\nb", "9" * 5000 + "x", "-1", "nan", [1]])
def test_a_wrong_value_is_told_with_its_setting(field: Field[Any], value: object) -> None:
    with pytest.raises(ValueError, match=rf"^TPLSPIDER_{field.name.upper()}: expected ") as caught:
        read(field.name, value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 200


def test_an_unknown_setting_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(ValueError, match=r"TPLSPIDER_SEARCHS\b.*TPLSPIDER_SEARCHES"):
        read("searchs", 3)


@pytest.mark.parametrize(
    ("field", "value", "read_as"),
    [
        ("in_flight", "4", 4),
        ("in_flight", " 4 ", 4),
        ("in_flight", 4, 4),
        ("extract_seconds", "2.5", 2.5),
        ("extract_seconds", 7, 7),
        ("texts", "1", True),
        ("texts", "True", True),
        ("texts", True, True),
        ("allow_private", "0", False),
        ("allow_private", "false", False),
        *((field.name, None, field.default) for field in NOT_TEXTS),
    ],
)
def test_valid_values(field: str, value: object, read_as: object) -> None:
    changes: dict[str, Any] = {field: read_as}
    assert read(field, value) == replace(Config(), **changes)


@pytest.mark.parametrize(("field", "value"), [("in_flight", "0"), ("extract_seconds", "0")])
def test_what_has_to_be_more_than_nothing(field: str, value: str) -> None:
    with pytest.raises(ValueError, match=f"^TPLSPIDER_{field.upper()}: expected "):
        read(field, value)

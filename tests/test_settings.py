"""Our own settings: what they may be, and that a wrong one is named."""

from __future__ import annotations

from dataclasses import Field, fields, replace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from tests.support.crawls import run_scrapy
from tplspider.old.crawl.config import Config
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from pathlib import Path

NOT_TEXTS = [field for field in fields(Config) if not isinstance(field.default, str)]


def read(field: str, value: object) -> Config:
    return Config.of(Settings({f"TPLSPIDER_{field.upper()}": value}))


@pytest.mark.parametrize("field", NOT_TEXTS, ids=lambda field: field.name)
@pytest.mark.parametrize("value", ["abc", "", "a\nb", "9" * 5000 + "x", [1]])
def test_a_wrong_value_is_told_with_its_setting(field: Field[Any], value: object) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read(field.name, value)
    line = str(caught.value)
    assert line.startswith(f"TPLSPIDER_{field.name.upper()}={value!r:.60}: expected ")
    assert "\n" not in line
    assert len(line) < 200


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("in_flight", "0", "a whole number, 1 or more"),
        ("in_flight", "1.5", "a whole number, 1 or more"),
        ("in_flight", "inf", "a whole number, 1 or more"),
        ("max_search_nodes", "-1", "a whole number, 1 or more"),
        ("max_search_nodes", 0, "a whole number, 1 or more"),
        ("retry_after_max", "nan", "a number of seconds, 0 or more"),
        ("retry_after_max", "-0.5", "a number of seconds, 0 or more"),
        ("template", "maybe", "True or False"),
        ("allow_private", "no", "True or False"),
    ],
)
def test_what_is_expected_is_told(field: str, value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        read(field, value)
    assert str(caught.value) == f"TPLSPIDER_{field.upper()}={value!r}: expected {expected}"


@pytest.mark.parametrize(
    ("field", "value", "read_as"),
    [
        ("in_flight", "4", 4),
        ("in_flight", 4, 4),
        ("in_flight", " 4 ", 4),
        ("retry_after_max", "0", 0),
        ("retry_after_max", "2.5", 2.5),
        ("retry_after_max", 7, 7),
        ("template", "1", True),
        ("template", "true", True),
        ("template", "True", True),
        ("template", True, True),
        ("allow_private", "0", False),
        ("allow_private", "false", False),
        ("allow_private", 0, False),
        *((field.name, None, field.default) for field in NOT_TEXTS),
    ],
)
def test_values_that_will_do(field: str, value: object, read_as: object) -> None:
    changes: dict[str, Any] = {field: read_as}
    assert read(field, value) == replace(Config(), **changes)


def test_a_spider_as_a_class_names_it_too() -> None:
    with pytest.raises(ValueError, match="TPLSPIDER_MAX_SEARCH_NODES='0': expected a whole"):
        get_crawler(TemplateCandidatesSpider, {"TPLSPIDER_MAX_SEARCH_NODES": "0"})


@pytest.mark.crawl
def test_the_demo_names_it_too(tmp_path: Path) -> None:
    done = run_scrapy("demo", folder=tmp_path, settings={"TPLSPIDER_IN_FLIGHT": "abc"})
    assert (done.code, done.stdout) == (2, "")
    assert "TPLSPIDER_IN_FLIGHT='abc': expected a whole number, 1 or more" in done.log
    assert "Traceback" not in done.log

"""The comparison of two checkouts sees what differs, and only what it is told is left out."""

from __future__ import annotations

import doctest
import json
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks import compare_feeds, feed_fields
from benchmarks.checkouts import two_checkouts
from benchmarks.compare_feeds import BY_ARRIVAL, Case, crawl, differences
from benchmarks.compared_sites import compared_sites
from tests.support.crawls import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "x.json": b'[\n{"a": 1, "new": "x"}\n]',
    "x.jl": b'{"new": {"a": [1]}, "a": 1}\n',
    "x.csv": b"a,new\r\n1,x\r\n",
    "x.xml": b"<items>\n<item><a>1</a><new>x</new></item>\n</items>",
}
BEFORE = {
    "x.json": b'[\n{"a": 1}\n]',
    "x.jl": b'{"a": 1}\n',
    "x.csv": b"a\r\n1\r\n",
    "x.xml": b"<items>\n<item><a>1</a></item>\n</items>",
}


def test_examples_of_feeds_without_fields() -> None:
    assert doctest.testmod(feed_fields) == (0, 6)


@pytest.mark.parametrize("name", FILES)
def test_new_fields_are_ignored_and_nothing_else(name: str) -> None:
    old, new = {name: BEFORE[name]}, {name: FILES[name]}
    assert [*differences(old, new, ["new"])] == []
    assert len([*differences(old, new, [])]) == 1
    assert len([*differences(old, {name: FILES[name].replace(b"1", b"2")}, ["new"])]) == 1
    assert len([*differences(old, {name: FILES[name] + b" "}, ["new"])]) == 1
    assert [*differences(old, {}, ["new"])] == [f"{name}: only of the old one"]


@pytest.mark.crawl
def test_crawls_of_a_checkout() -> None:
    """All that is to be compared is there, and a crawl more or less is seen."""
    (site,) = (site for site in compared_sites() if site.name == "template")
    with two_checkouts(PROJECT, PROJECT) as (old, new), site.serve() as server:
        (url,) = site.urls(server)
        one, same = (crawl(side, Case("", url, "paper", 2, 1, "host")) for side in (old, new))
        other = crawl(new, Case("", url, "paper", 3, 4, "host"))
    assert [*differences(one, same, [])] == []
    found = {text.partition(":")[0] for text in differences(one, other, BY_ARRIVAL)}
    assert found == {*one} - {"exit status"}
    assert one["exit status"] == b"0"
    assert len(json.loads(one["candidates.json"])) == 2
    assert len(one) == 12 + len(("log", "stats", "exit status"))
    assert b"Complete: 2 pages" in one["log"]
    assert b"'tplspider/cs_size': 2" in one["stats"]


def test_what_is_not_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["compare_feeds", str(tmp_path), str(PROJECT)])
    with pytest.raises(SystemExit, match=r"is not a checkout: it has no scrapy\.cfg"):
        compare_feeds.main()

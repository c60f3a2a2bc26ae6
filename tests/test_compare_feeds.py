"""The comparison of two checkouts sees what differs, and only what it is told is left out."""

from __future__ import annotations

import doctest
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks import checkouts, compare_feeds, compared_rows, feed_fields
from benchmarks.checkout_environments import name_of
from benchmarks.checkouts import Checkout, two_checkouts
from benchmarks.compared_commands import BY_ARRIVAL
from benchmarks.compared_crawls import OneCrawl, crawl
from benchmarks.compared_rows import differences
from benchmarks.compared_sites import compared_sites
from tests.support.crawls import PROJECT

if TYPE_CHECKING:
    from types import ModuleType

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


@pytest.mark.parametrize(
    ("module", "examples"), [(feed_fields, 6), (compared_rows, 6), (checkouts, 1)]
)
def test_examples(module: ModuleType, examples: int) -> None:
    assert doctest.testmod(module) == (0, examples)


@pytest.mark.parametrize("name", FILES)
def test_new_fields_are_ignored_and_nothing_else(name: str) -> None:
    old, new = {name: BEFORE[name]}, {name: FILES[name]}
    assert [*differences(old, new, ["new"])] == []
    assert len([*differences(old, new, [])]) == 1
    assert len([*differences(old, {name: FILES[name].replace(b"1", b"2")}, ["new"])]) == 1
    assert len([*differences(old, {name: FILES[name] + b" "}, ["new"])]) == 1
    assert [*differences(old, {}, ["new"])] == [f"{name}: only of the old one"]


def test_rows_are_named_and_their_order_counts_where_it_is_told() -> None:
    old = {
        "x.jl": b'{"line": 1, "requested_url": "/a", "n": 2}\n{"line": 2, "requested_url": "/b"}\n'
    }
    new = {
        "x.jl": b'{"line": 2, "requested_url": "/b"}\n{"line": 1, "requested_url": "/a", "n": 2}\n'
    }
    assert [*differences(old, new, [], ordered=False)] == []
    (told,) = differences(old, new, [])
    assert "the same rows, written otherwise" in told
    new = {"x.jl": new["x.jl"].replace(b"2}", b"3}")}
    assert [*differences(old, new, [], ordered=False)] == ["x.jl:\n    1, /a: n: 2 → 3"]
    assert [*differences(old, new, ["n"], ordered=False)] == []
    assert [*differences({"a.log": b"x"}, {"a.log": b"y"}, ["log"])] == []


def test_names_that_the_new_checkout_has_changed() -> None:
    renames = {"n": "size", "--summary": "--searches", "LOG_LEVEL": "LEVEL", "a.items.B": "b.B"}
    side = Checkout(PROJECT, PROJECT, Path("python"), renames)
    words = side.command(
        *("archive", "n.warc.gz", "--summary=n"),
        arguments={"n": 3, "strategy": "n"},
        settings={"FEEDS": '{"x": ["a.items.B", "a.items.Bc"]}'},
    )
    assert words[:8] == [
        *("python", "-m", "scrapy", "archive", "n.warc.gz", "--searches=n"),
        *("-asize=3", "-astrategy=n"),
    ]
    assert '-sFEEDS={"x": ["b.B", "a.items.Bc"]}' in words
    assert "-sLEVEL=INFO" in words


def test_environments_go_by_requirements(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    for folder in (one, other):
        folder.mkdir()
        (folder / "requirements-dev.txt").write_text("scrapy\n", "utf-8")
    assert name_of(one) == name_of(other)
    (one / "requirements-dev.txt").write_text("scrapy>2\n", "utf-8")
    assert name_of(one) != name_of(other)
    for folder in (one, other):  # its own, as it leads to the checkout
        (folder / "requirements-dev.txt").write_text("scrapy\n-e .[archive]\n", "utf-8")
    assert name_of(one) != name_of(other)


@pytest.mark.crawl
def test_crawls_of_a_checkout() -> None:
    """All that is to be compared is there, and a crawl more or less is seen."""
    (site,) = (site for site in compared_sites() if site.name == "template")
    renames = {"template": "texts"}  # the benchmarks use the names of the older checkout
    with two_checkouts(PROJECT, PROJECT, renames=renames) as (_, new), site.serve() as server:
        (url,) = site.urls(server)
        one, same = (crawl(OneCrawl(url, "paper", 2, 1, "host"), new) for _ in range(2))
        other = crawl(OneCrawl(url, "paper", 3, 4, "host"), new)
    assert [*differences(one, same, [])] == []
    found = {text.partition(":")[0] for text in differences(one, other, BY_ARRIVAL)}
    pages = {name for name in one if name.startswith("pages/") and name.endswith(".html")}
    assert {"pages/key.html", "pages/1.html", "pages/2.html"} <= pages
    assert found >= {*one} - {"exit status", *pages}
    assert one["exit status"] == b"0"
    assert len(json.loads(one["candidates.json"])) == 2
    assert len(one) == 12 + len(("log", "stats", "exit status", "manifest.json", *pages))
    assert b"Complete: 2 pages" in one["log"]
    assert b"'tplspider/cs_size': 2" in one["stats"]


def test_what_is_not_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pythons = [f"--{side}-python={sys.executable}" for side in ("old", "new")]
    monkeypatch.setattr(sys, "argv", ["compare_feeds", str(tmp_path), str(PROJECT), *pythons])
    with pytest.raises(SystemExit, match=r"is not a checkout: it has no scrapy\.cfg"):
        compare_feeds.main()

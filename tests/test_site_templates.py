import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tplspider
from tests.support.crawls import PROJECT
from tplspider.items import PageTemplate
from tplspider.pools.pool import PooledPage
from tplspider.pools.site_templates import Released, SitePools, SiteTemplates, StrippedPage
from tplspider.pools.store import PoolFolder

WORDS = "apples bees cars doors eels figs goats hats ink jam kites lamps mice nuts oats".split()


def page(content: str, menu: str = "Menu", more: str = "") -> str:
    links = "".join(f"<li><a href=/{menu}/{name}>{menu} {name}</a></li>" for name in "abcde")
    return (
        f"<html><head><title>{menu}</title></head><body><div id=top><ul>{links}</ul></div>"
        f"<div id=main><p>{content}</p>{more}</div>"
        f"<div id=foot><p>{menu}: all rights reserved</p></div></body></html>"
    )


def sentence(number: int) -> str:
    draw = random.Random(number)
    return f"Page {number} is about {', '.join(draw.choice(WORDS) for _ in range(20))}."


def article(number: int, menu: str = "Menu") -> str:
    return page(sentence(number), menu)


def strip(
    pages: Iterable[tuple[str, str]], templates: SiteTemplates[int] | None = None
) -> list[StrippedPage[int]]:
    templates = templates or SiteTemplates()
    found: list[StrippedPage[int]] = []
    for number, (url, html) in enumerate(pages):
        found += templates.add(url, html, number)
    found += templates.flush()
    assert templates.held == 0
    return found


def site(count: int, make: Any = article, host: str = "a.org") -> list[tuple[str, str]]:
    return [(f"http://{host}/{number}", make(number)) for number in range(count)]


def test_a_site() -> None:
    found = strip(site(40))
    assert [each.token for each in found] == list(range(40))
    assert [each.template.main_text for each in found] == [sentence(n) for n in range(40)]
    assert {each.template.evidence for each in found} == {3}
    assert found[7].template.key_url == "http://a.org/7"


def test_the_first_pages_wait() -> None:
    templates: SiteTemplates[None] = SiteTemplates(ready=5)
    sizes = [len(templates.add(url, html)) for url, html in site(7)]
    assert sizes == [0, 0, 0, 0, 5, 1, 1]
    assert templates.add("http://b.org/", article(1)) == []
    assert templates.held == 1
    assert [(each.template.key_url, each.token) for each in templates.flush()] == [
        ("http://b.org/", None)
    ]


@settings(max_examples=10)
@given(st.permutations(range(12)), st.permutations(range(12)))
def test_the_order_of_arrival_plays_no_part(first: list[int], second: list[int]) -> None:
    """If all pages are there before one is given out: what each is compared with is the same."""

    def crawl(order: list[int]) -> dict[str, PageTemplate]:
        pages = site(12)
        templates: SiteTemplates[int] = SiteTemplates(pool=13, ready=13)
        found = strip([pages[number] for number in order], templates)
        return {each.template.key_url: each.template for each in found}

    assert crawl(first) == crawl(second)


def test_a_page_that_takes_too_long(caplog: pytest.LogCaptureFixture) -> None:
    templates: SiteTemplates[int] = SiteTemplates(seconds=1e-9)
    found = strip(site(20), templates)
    assert {each.template.evidence for each in found} == {0}
    assert len(caplog.records) == 20
    assert "No template for http://a.org/0: comparing" in caplog.records[0].getMessage()


def test_pools_are_kept(tmp_path: Path) -> None:
    first = strip(site(30), SiteTemplates(store=PoolFolder(tmp_path)))
    again: SiteTemplates[int] = SiteTemplates(store=tplspider.PoolFolder(tmp_path))
    (found,) = again.add("http://a.org/29", article(29), 29)
    assert found == first[29]


@pytest.mark.parametrize("bad", ["http://[::1/a", "http://a.org/\ud800"])
def test_addresses_that_cannot_be_parsed(bad: str, caplog: pytest.LogCaptureFixture) -> None:
    """Each page comes once, in whatever company."""
    templates: SiteTemplates[int] = SiteTemplates()
    pages = [(bad, article(0)), *site(20), (bad, article(1))]
    found = [each for at, page in enumerate(pages) for each in templates.add(*page, at)]
    found += templates.flush()
    assert sorted(each.token for each in found) == [*range(22)]
    assert [*templates.flush()] == []
    texts = {each.token: each.template.main_text for each in found}
    assert [texts[number] for number in range(1, 21)] == [sentence(n) for n in range(20)]
    assert "No template for http://" in caplog.text


@pytest.mark.parametrize(
    "given",
    [
        *({name: 0} for name in ("pool", "ready", "companions", "held_megabytes", "seconds")),
        *({"megabytes": -1}, {"megabytes": float("nan")}, {"held": -1}, {"ready": 51}),
        *({"wanted": ["main_txt"]}, {"wanted": "main_text"}, {"store": "x"}),
    ],
)
def test_values_that_make_no_sense(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="|".join((*given, "main_txt"))):
        SiteTemplates(**given)


def test_the_example_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (PROJECT / "docs/library.md").read_text("utf-8")
    section = text.partition("\n## The template off every page of a crawl\n")[2]
    example = section.partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(example, names)
    for _ in range(2):  # with the pool of the first time, too
        texts = [found.main_text for found in names["clean"](site(20))]
        assert texts == [sentence(number) for number in range(20)]
    assert (tmp_path / "pools" / "pools.sqlite").is_file()


def test_a_page_that_would_take_minutes_to_read(caplog: pytest.LogCaptureFixture) -> None:
    attributes = " ".join(f"a{number}=1" for number in range(40_000))
    pages = site(20)
    pages[3] = ("http://a.org/costly", f"<html><body {attributes}><p>Words")
    found = strip(pages)
    assert [each.token for each in found] == list(range(20))
    costly = found[3].template
    assert (costly.key_url, costly.main_text, costly.evidence) == ("http://a.org/costly", "", 0)
    assert {each.template.evidence for each in found if each.token != 3} == {3}
    assert "http://a.org/costly cannot be read" in caplog.text


def test_a_user_and_a_password_are_taken_off() -> None:
    pages = [(url.replace("http://", "http://me:secret@"), html) for url, html in site(6)]
    found = strip(pages)
    assert found[5].template.evidence == 3
    assert "secret" not in repr([asdict(each.template) for each in found])


# Which pages wait for the pool of their site, and in what order they are given out.


def arrivals(sites: st.SearchStrategy[str]) -> st.SearchStrategy[list[Any]]:
    entries = st.tuples(sites, st.integers(0, 9), st.integers(0, 5))
    return st.lists(st.one_of(entries, st.just(None)), max_size=60)


class Shelf:
    def __init__(self) -> None:
        self.pools: dict[str, list[PooledPage]] = {}

    def load(self, site: str) -> Iterable[PooledPage]:
        return self.pools.get(site, [])

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        self.pools[site] = list(pages)


def words(site: str, name: object, content: object = None) -> PooledPage:
    text = f"<p>Words of {name if content is None else content}"
    return PooledPage.of(f"http://{site}.org/{name}", text)


@given(
    arrivals(st.sampled_from("abcd")),
    st.integers(1, 5),
    st.integers(1, 5),
    st.integers(0, 6),
    st.sampled_from([0.0001, 0.003, 0.006, 1]),
    st.sampled_from([0.0001, 0.0003, 1]),
)
def test_each_page_once_and_in_order(
    events: list[tuple[str, int, int] | None],
    most: int,
    ready: int,
    held: int,
    megabytes: float,
    held_megabytes: float,
) -> None:
    pools: SitePools[int] = SitePools(
        pool=most, ready=ready, held=held, megabytes=megabytes, held_megabytes=held_megabytes
    )
    came: dict[str, list[int]] = defaultdict(list)
    went: dict[str, list[int]] = defaultdict(list)

    def take(released: list[Released[int]]) -> None:
        for each in released:
            went[each.site].append(each.entry)
            assert len(each.pool) <= most

    for number, event in enumerate(events):
        if event is None:
            take(pools.flush())
            assert not pools.held
        else:
            site, name, content = event
            came[f"{site}.org"].append(number)
            new = words(site, name, content)
            take(pools.add(new, number))
        waiting = sum(map(len, came.values())) - sum(map(len, went.values()))
        assert pools.held == waiting <= held
    take(pools.flush())
    assert went == came


def test_copies_are_not_waited_for_without_end() -> None:
    pools: SitePools[int] = SitePools(pool=25, ready=15)
    sizes = [len(pools.add(words("a", number, "the same"), number)) for number in range(10_000)]
    assert sizes == [0] * 59 + [60] + [1] * 9_940


ODD = st.sampled_from(["http://a.org/{}", "http://b.org/{}?\udcff", "http://[c/{}", "{}"])


@given(arrivals(ODD), st.integers(1, 5), st.integers(1, 5), st.sampled_from(["", "has a store"]))
def test_what_is_in_the_file_is_as_good_as_in_memory(
    events: list[tuple[str, int, int] | None], most: int, ready: int, has_store: str
) -> None:
    shelves = Shelf(), Shelf()
    both: list[SitePools[int]] = [
        SitePools(pool=most, ready=ready, megabytes=megabytes, store=shelf if has_store else None)
        for megabytes, shelf in zip((9, 0.0001), shelves, strict=True)
    ]
    for number, event in enumerate(events):
        if event is None:
            assert both[0].flush() == both[1].flush()
            continue
        url, name, content = event
        text = f"<p>Words of {content // 2} with the token 0000000{content}"
        new = PooledPage.of(url.format(name), text)
        assert both[0].add(new, number) == both[1].add(new, number)
        assert len(both[1]) == 1
    for pools in both:
        pools.save()
    assert shelves[0].pools == shelves[1].pools
    for shelf in shelves:
        shelf.pools = {}
    for pools in both:
        pools.save()
    assert not shelves[1].pools  # nothing is new

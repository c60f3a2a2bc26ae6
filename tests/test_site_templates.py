"""``SiteTemplates``: whole crawls in memory, sound ones and others."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tplspider
from tests.support.crawls import PROJECT
from tplspider.pools.site_templates import SiteTemplates, StrippedPage
from tplspider.pools.store import PoolFolder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tplspider.items import PageTemplate
    from tplspider.pools.pool import PooledPage

WORDS = "apples bees cars doors eels figs goats hats ink jam kites lamps mice nuts oats".split()


def page(content: str, menu: str = "Menu", more: str = "") -> str:
    links = "".join(f"<li><a href=/{menu}/{name}>{menu} {name}</a></li>" for name in "abcde")
    return (
        f"<html><head><title>{menu}</title></head><body><div id=top><ul>{links}</ul></div>"
        f"<div id=main><p>{content}</p>{more}</div>"
        f"<div id=foot><p>{menu}: all rights reserved</p></div></body></html>"
    )


def sentence(number: int) -> str:
    """Some words that no other page has in this order."""
    draw = random.Random(number)
    return f"Page {number} is about {', '.join(draw.choice(WORDS) for _ in range(20))}."


def article(number: int, menu: str = "Menu") -> str:
    return page(sentence(number), menu)


def strip(
    pages: Iterable[tuple[str, str]], templates: SiteTemplates[int] | None = None
) -> list[StrippedPage[int]]:
    """All pages of a crawl, numbered from 0."""
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


def test_flush_need_not_be_waited_for() -> None:
    templates: SiteTemplates[None] = SiteTemplates()
    templates.add("http://a.org/", article(1))
    rest = templates.flush()
    assert templates.held == 0
    assert len([*rest]) == 1


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


@settings(max_examples=10)
@given(
    st.lists(st.sampled_from(["a.org", "b.org", "c.org"]), max_size=40),
    st.integers(1, 4),
    st.integers(0, 5),
    st.sampled_from([0.003, 1]),
)
def test_sites_are_given_out_in_order(
    hosts: list[str], ready: int, held: int, megabytes: float
) -> None:
    templates: SiteTemplates[int] = SiteTemplates(
        pool=4, ready=ready, held=held, megabytes=megabytes
    )
    found = strip([(f"http://{h}/{n}", article(n)) for n, h in enumerate(hosts)], templates)
    for host in {*hosts}:
        ours = [each.token for each in found if f"//{host}/" in each.template.key_url]
        assert ours == [number for number, other in enumerate(hosts) if other == host]
    assert len(found) == len(hosts)


def test_other_sites_play_no_part() -> None:
    alone = strip(site(20))
    mixed = [
        each
        for number, one in enumerate(site(20))
        for each in (one, (f"http://b.org/{number}", article(number, "Other")))
    ]
    found = [each.template for each in strip(mixed) if "//a.org/" in each.template.key_url]
    assert found == [each.template for each in alone]


def test_a_site_of_one_page() -> None:
    (found,) = strip(site(1))
    assert found.template.evidence == 0
    assert sentence(0) in found.template.content_text


def test_copies() -> None:
    """Nothing can be known of them, and they are not waited for for ever."""
    found = strip(site(200, lambda number: article(0)))
    assert len(found) == 200
    assert {each.template.evidence for each in found} == {0}


def test_pages_that_share_nothing() -> None:
    tags = ("p", "div", "pre", "table", "ul")
    found = strip(site(40, lambda n: f"<{tags[n % 5]}>{sentence(n)[8:]}{n}</{tags[n % 5]}>"))
    assert len(found) == 40
    for number, each in enumerate(found):
        words = sentence(number)[8:].split()
        assert {*words[1:-1]} <= {*each.template.content_text.split()}


def wall(number: int) -> str:
    token = f"{number * 7919:032x}"
    form = f"<form action=/login><input type=hidden value={token}><p>Request {token}</p></form>"
    return page("Please log in to go on.", more=form)


def test_a_login_wall() -> None:
    found = strip(site(60, wall))
    assert len(found) == 60
    assert all("Request" in each.template.content_text for each in found)


def test_a_login_wall_at_most_of_the_addresses() -> None:
    """The few pages behind it are told from their template all the same."""
    found = strip(site(200, lambda number: wall(number) if number % 20 else article(number)))
    texts = {each.token: each.template.main_text for each in found if not each.token % 20}
    assert texts == {number: sentence(number) for number in range(0, 200, 20)}
    assert not any("rights reserved" in each.template.main_text for each in found)


def test_two_languages_with_two_templates() -> None:
    pages = [
        (f"http://a.org/{'de' if n % 2 else 'en'}/{n}", article(n, "Karte" if n % 2 else "Menu"))
        for n in range(60)
    ]
    assert [each.template.main_text for each in strip(pages)] == [sentence(n) for n in range(60)]


def redesigned(number: int) -> str:
    links = "".join(f"<a href=/new/{name}>New {name}</a>" for name in "fghijk")
    return (
        f"<html><body><header><nav>{links}</nav></header><main><article><p>{sentence(number)}</p>"
        "</article></main><footer>New: imprint</footer></body></html>"
    )


def test_a_redesign_in_the_middle_of_a_crawl() -> None:
    """Before the first page of the new design is in the pool, nothing is known of it."""
    found = strip(site(120, lambda n: article(n) if n < 60 else redesigned(n)))
    unknown = {number for number, each in enumerate(found) if not each.template.evidence}
    assert 60 in unknown <= {*range(60, 70)}
    for number, each in enumerate(found):
        text = each.template.content_text
        assert sentence(number) in text if number in unknown else sentence(number) == text


@pytest.mark.slow
def test_a_page_of_ten_megabytes() -> None:
    """It is given out like others, and nobody is compared with it."""
    large = page(" ".join(sentence(number) for number in range(60_000)))
    assert len(large) > 8_000_000
    pages = site(30)
    pages[10] = ("http://a.org/large", large)
    found = strip(pages)
    assert [each.token for each in found] == list(range(30))
    assert found[10].template.evidence == 3
    assert "rights reserved" not in found[10].template.content_text
    assert not any("http://a.org/large" in each.template.candidates for each in found)


MEMORY = """
import resource, sys
from tests.test_site_templates import SiteTemplates, article
templates = SiteTemplates(megabytes=2, held=100, held_megabytes=2, wanted=["main_text"])
peaks = []
for number in range(int(sys.argv[1])):
    templates.add(f"http://site{number}.org/", article(number), number)
    if number in (2_000, int(sys.argv[1]) - 1):
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
print(*peaks)
"""


@pytest.mark.slow
def test_many_sites_with_one_page_each() -> None:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, "10000"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    first, last = map(int, done.stdout.split())
    assert last < first + 5_000  # kilobytes


def test_a_page_that_takes_too_long(caplog: pytest.LogCaptureFixture) -> None:
    templates: SiteTemplates[int] = SiteTemplates(seconds=1e-9)
    found = strip(site(20), templates)
    assert {each.template.evidence for each in found} == {0}
    assert len(caplog.records) == 20
    assert "No template for http://a.org/0: comparing" in caplog.records[0].getMessage()


def test_pools_are_kept(tmp_path: Path) -> None:
    """The second crawl of a site holds nothing back."""
    first = strip(site(30), SiteTemplates(store=PoolFolder(tmp_path)))
    again: SiteTemplates[int] = SiteTemplates(store=tplspider.PoolFolder(tmp_path))
    (found,) = again.add("http://a.org/29", article(29), 29)
    assert found == first[29]


def test_addresses_need_not_be_any() -> None:
    pages = [(f"folder/{number}.html", article(number)) for number in range(20)]
    assert [each.template.main_text for each in strip(pages)] == [sentence(n) for n in range(20)]


@pytest.mark.parametrize("bad", ["http://[::1/a", "http://a.org/\ud800"])
def test_an_address_that_cannot_be_parsed_stops_no_other(
    bad: str, caplog: pytest.LogCaptureFixture
) -> None:
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
    ("given", "words"),
    [
        ({"pool": 0}, "pool=0: expected a whole number, 1 or more"),
        ({"ready": 0}, "ready=0: expected a whole number, 1 or more"),
        ({"ready": 51}, "ready=51: a pool of 50 pages never has so many"),
        ({"companions": 0}, "companions=0: expected a whole number, 1 or more"),
        ({"companions": 1.5}, "companions=1.5: expected a whole number, 1 or more"),
        ({"megabytes": -1}, "megabytes=-1: expected a number of megabytes above 0"),
        ({"held": -1}, "held=-1: expected a whole number, 0 or more"),
        ({"held_megabytes": 0}, "held_megabytes=0: expected a number of megabytes above 0"),
        ({"seconds": 0}, "seconds=0: expected a number of seconds above 0"),
        ({"wanted": ["main_txt"]}, "a PageTemplate has no main_txt"),
        ({"store": "x"}, "store='x': expected a PoolFolder, or what loads and saves"),
    ],
)
def test_values_that_make_no_sense(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}$"):
        SiteTemplates(**given)


def test_markdown_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "html_to_markdown", None)
    SiteTemplates(wanted={"main_text"})
    with pytest.raises(ImportError, match=r"^Markdown needs html-to-markdown: pip install"):
        SiteTemplates(wanted={"main_text", "main_markdown"})


def test_a_small_pool_is_ready_when_it_is_full() -> None:
    templates: SiteTemplates[int] = SiteTemplates(pool=3)
    assert [len(templates.add(url, html, 0)) for url, html in site(4)] == [0, 0, 3, 1]


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


def test_the_package_has_it() -> None:
    assert (tplspider.SiteTemplates, tplspider.StrippedPage) == (SiteTemplates, StrippedPage)
    (found,) = strip(site(1))
    assert replace(found, token=7).token == 7


class FullStore:
    """A store that cannot save."""

    def load(self, site: str) -> list[PooledPage]:
        return []

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        raise OSError("full")


def test_pages_are_not_lost_when_something_is_raised_in_between() -> None:
    templates: SiteTemplates[int] = SiteTemplates(store=FullStore())
    for number, (url, html) in enumerate(site(5)):
        templates.add(url, html, number)
    with pytest.raises(OSError, match="full"):
        templates.flush()
    with pytest.raises(OSError, match="full"):
        templates.flush()
    assert [each.token for each in templates.add("http://b.org/", "<p>Other", 5)] == [*range(5)]


INTERRUPTED = """
import signal
from tests.test_site_templates import site
from tplspider import SiteTemplates

class StoppedError(Exception): ...

def interrupt(*_):
    raise StoppedError

signal.signal(signal.SIGALRM, interrupt)
templates, found, interrupted = SiteTemplates(), [], 0
for number, (url, html) in enumerate(site(40)):
    try:
        if number == 14:  # the pool is ready: all are given out
            signal.setitimer(signal.ITIMER_REAL, 0.005)
        found += [each.token for each in templates.add(url, html, number)]
    except StoppedError:
        interrupted += 1
found += [each.token for each in templates.flush()]
assert interrupted == 1, interrupted
assert found == [*range(40)], found
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs the timers of Unix")
def test_pages_are_not_lost_when_a_signal_interrupts() -> None:
    # In a process that is not measured: an exception out of a signal handler may leave the lock
    # of coverage taken, and then that waits for it for ever.
    env = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        cwd=PROJECT,
        env=env,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_page_that_would_take_minutes_to_read(caplog: pytest.LogCaptureFixture) -> None:
    attributes = " ".join(f"a{number}=1" for number in range(40_000))
    pages = site(20)
    pages[3] = ("http://a.org/costly", f"<html><body {attributes}><p>Words")
    found = strip(pages)
    assert [each.token for each in found] == list(range(20))
    costly = found[3].template
    assert (costly.key_url, costly.main_text, costly.evidence) == ("http://a.org/costly", "", 0)
    assert {each.template.evidence for each in found if each.token != 3} == {3}
    assert "http://a.org/costly is not read" in caplog.text


def test_a_user_and_a_password_are_taken_off() -> None:
    pages = [(url.replace("http://", "http://me:secret@"), html) for url, html in site(6)]
    found = strip(pages)
    assert found[5].template.evidence == 3
    assert "secret" not in repr([asdict(each.template) for each in found])

"""Pages kept ready: a page comes out as if it were the first to be compared with them."""

from __future__ import annotations

from dataclasses import asdict, fields
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.extraction import manual
from tests.support.examples import examples
from tests.support.template_pages import ARTICLES, PIECES, SITE, framed, page_pairs
from tplspider.items import PageTemplate
from tplspider.template.extract import Companions, PageSource, compare, extract_template
from tplspider.template.flat_page import Content, FlatPage, Vocabulary, flatten
from tplspider.template.lines import Line, page_lines
from tplspider.template.mapping import SubtreeBags
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


TEXTS = frozenset({"main_text", "content_text", "title"})
ALWAYS = frozenset({"key_url", "candidates", "template_share", "evidence", "method"})
FIELDS = frozenset(field.name for field in fields(PageTemplate))


def sources(pages: list[str]) -> list[PageSource]:
    return [PageSource(f"{SITE}page{place}.html", html) for place, html in enumerate(pages)]


SITES = (
    st.lists(page_pairs(), min_size=1, max_size=3).map(
        lambda pairs: [p for two in pairs for p in two]
    )
    | st.lists(
        st.lists(PIECES, max_size=3).map(lambda x: framed("".join(x))), min_size=2, max_size=6
    )
).map(sources)


@examples(40)
@given(SITES, st.data(), st.integers(0, 4))
def test_what_was_seen_before_changes_nothing(
    site: list[PageSource], data: st.DataObject, kept: int
) -> None:
    companions = Companions(most=kept)
    for _ in range(data.draw(st.integers(1, 5))):
        key = data.draw(st.sampled_from(site))
        others = data.draw(st.lists(st.sampled_from(site), max_size=4))
        most = data.draw(st.none() | st.integers(0, 3))
        assert companions.extract(key, others, most=most) == extract_template(
            key, others, most=most
        )
        ours, theirs = companions.compare(key, others), compare(key, others)
        assert (ours and ours.template) == (theirs and theirs.template)


@examples(40)
@given(SITES, st.sets(st.sampled_from(sorted(FIELDS - ALWAYS))))
def test_only_the_wanted_fields_are_filled(site: list[PageSource], wanted: set[str]) -> None:
    key, *others = site
    whole = asdict(extract_template(key, others))
    found = asdict(Companions().extract(key, others, wanted=frozenset(wanted)))
    for name in FIELDS:
        if name in wanted | ALWAYS:
            assert found[name] == whole[name]
        else:
            assert not found[name]


def test_the_sample_of_a_large_page_does_not_depend_on_what_was_seen_before() -> None:
    page, other = (manual(Random(seed), 40_000) for seed in (1, 2))

    def sample(vocabulary: Vocabulary) -> set[Content]:
        flat = flatten(parse_html(page), SITE, vocabulary)
        contents = {number: content for content, number in vocabulary.own.items()}
        return {contents[number] for number in SubtreeBags(flat).bag(0)}

    filled = Vocabulary()
    flatten(parse_html(other), SITE, filled)
    assert sample(Vocabulary()) == sample(filled)


def test_a_page_is_made_ready_once() -> None:
    companions = Companions(most=2)
    key, *others = sources(ARTICLES)
    companions.extract(key, others)
    first, second = companions._kept.values()
    companions.extract(key, [PageSource(page.url, page.html) for page in others[::-1]])
    assert [*companions._kept.values()] == [second, first]
    assert next(iter(companions._kept.values())) is second
    companions.extract(others[0], [key])  # takes the place of the one that was last used first
    kept, new = companions._kept.values()
    assert kept is first
    # The same address, with another page.
    companions.extract(key, [PageSource(others[0].url, others[1].html)])
    assert first not in companions._kept.values()
    assert next(iter(companions._kept.values())) is new


def test_pages_are_chosen_when_the_key_page_is_read() -> None:
    key, *others = sources(ARTICLES)

    def choose(flat: FlatPage, lines: Sequence[Line]) -> list[PageSource]:
        assert flat.tags[0] == "body"
        assert lines == page_lines(flat)
        return others[1:]

    assert Companions().extract(key, choose) == extract_template(key, others[1:])


def test_pages_are_asked_for_one_by_one() -> None:
    asked: list[PageSource] = []

    def pages() -> Iterator[PageSource]:
        for page in others:
            asked.append(page)
            yield page

    key, *others = sources(ARTICLES)
    assert Companions().extract(key, pages(), most=1).evidence == 1
    assert asked == others[:1]
    assert Companions().extract(key, pages(), most=0).evidence == 0
    assert asked == others[:1]


def test_the_vocabulary_does_not_grow_with_the_pages_of_a_site() -> None:
    companions = Companions(most=3)
    first, *rest = sources([framed(f"<p>Page {n}.</p>") for n in range(40)])
    companions.extract(first, rest[:3])
    size = companions._vocabulary.size
    for page in rest[3:]:
        companions.extract(page, rest[:3])
        with pytest.raises(TimeoutError):
            companions.extract(page, rest[:3], seconds=0)
    assert companions._vocabulary.size == size
    for place in range(4, 36):
        companions.extract(first, rest[place : place + 3])
    assert companions._vocabulary.own.keys() & {("p", "Page 39.", ""), ("p", "Page 38.", "")}
    assert sum(companions._vocabulary.size) < 3 * sum(size)

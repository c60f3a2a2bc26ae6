"""What is template and what is not: small sites of many kinds, properties, limits."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, fields
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lxml import etree

from benchmarks.extraction import manual
from tests.support.crawls import PROJECT
from tests.support.kinds import examples
from tests.support.large_pages import SHAPES
from tests.support.pages import select
from tests.support.template_pages import (
    ARTICLES,
    KEY_URL,
    MENU,
    PIECES,
    SITE,
    extract,
    framed,
    page_pairs,
)
from tplspider.items import PageTemplate
from tplspider.template.extract import Companions, PageSource, compare, extract_template
from tplspider.template.flat_page import Content, Vocabulary, flatten
from tplspider.template.mapping import SubtreeBags
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tplspider.web.html import Element


CRANES = ["About cranes", "There is much to say about cranes."]


def lines(key: str, *others: str, url: str = KEY_URL, urls: Sequence[str] = ()) -> list[str]:
    """The content of a key page, as lines."""
    return extract(key, *others, url=url, urls=urls).content_text.splitlines()


def test_the_frame_is_template_and_the_text_is_not() -> None:
    template = extract(*ARTICLES)
    assert template.key_url == KEY_URL
    assert template.candidates == [f"{SITE}other1.html", f"{SITE}other2.html"]
    assert template.not_template == [
        "/html/body/div[2]/h1[1]",
        "/html/body/div[2]/p[1]",
    ]
    assert template.content_html == (
        "<h1>About cranes</h1>\n<p>There is much to say about cranes.</p>"
    )
    assert template.content_text.splitlines() == CRANES
    assert template.template_html.endswith(
        framed("").removeprefix("<html><head><title>Site</title></head>")
    )
    assert template.template_share == round(19 / 21, 4)


MENUS = {
    "relative": MENU.replace("/docs/", "").replace('"/', '"../'),
    "absolute": MENU.replace('href="/', 'href="http://example.org/'),
    "without scheme": MENU.replace('href="/', 'href="//example.org/'),
    "base": f'<base href="http://example.org/x/y/">{MENU.replace("/docs/", "../../docs/")}',
}


@pytest.mark.parametrize("kind", MENUS)
def test_menus_are_the_same_however_their_addresses_are_written(kind: str) -> None:
    other = framed("<h1>About herons</h1>", menu=MENUS[kind])
    assert lines(ARTICLES[0], other) == CRANES
    assert lines(framed("<p>Cranes</p>", menu=MENUS[kind]), *ARTICLES[1:]) == ["Cranes"]


def test_a_page_of_another_kind_does_not_spoil_the_frame() -> None:
    side = '<div class="side"><h3>Sections</h3><a href="/one">One</a> <a href="/two">Two</a></div>'

    def page(words: str) -> str:
        return framed(f'<div class="text"><h1>{words}</h1><p>Some {words}.</p></div>{side}')

    landing = framed('<div class="hero"><h2>Welcome!</h2><img src="big.png"></div>')
    template = extract(page("cranes"), page("herons"), page("storks"), landing)
    assert template.content_text.splitlines() == ["cranes", "Some cranes."]


def test_headings_of_what_a_page_has_are_not_template() -> None:
    def page(words: str, before: str, after: str) -> str:
        return framed(
            f'<div class="toc"><h3>On this page</h3><ul><li><a href="#{words}1">{words} one</a>'
            f'</li><li><a href="#{words}2">{words} two</a></li></ul></div><p>There are {words}.</p>'
            f'<div class="pager">Previous: <a href="{before}.html">{before}</a></div>'
            f'<div class="pager">Next: <a href="{after}.html">{after}</a></div>'
        )

    key = page("cranes", "bees", "doves")
    found = extract(key, page("herons", "gulls", "ibises"), page("storks", "rooks", "terns"))
    assert [part for part in words(found.content_html) if part in {"On", "Previous:", "Next:"}]
    # Words that are the same on all are labels in the text.
    assert found.content_text.splitlines() == [
        *("cranes one", "cranes two", "There are cranes.", "bees", "doves"),
    ]


NOTHING = {
    "empty": "",
    "blank": " \n ",
    "plain text": "Nothing but words.\nAnd a line.",
    "json": '{"title": "x", "html": 1}',
    "binary": "\x00\x01\x02PNG\r\n\x1a\n" + "".join(map(chr, range(256))),
    "an empty body": "<html><body></body></html>",
    "of another site": "<main><article><h1>Something else</h1></article></main>",
}


@pytest.mark.parametrize("kind", NOTHING)
def test_pages_that_tell_nothing(kind: str) -> None:
    key = PageSource(KEY_URL, ARTICLES[0])
    nothing = [PageSource(f"{SITE}{i}.html", NOTHING[kind]) for i in range(3)]
    assert extract_template(key, nothing).evidence == 0
    # One good page among them decides.
    assert lines(ARTICLES[0], *[NOTHING[kind]] * 3, ARTICLES[1]) == lines(*ARTICLES[:2])
    # And as the key page.
    odd = PageSource(KEY_URL, NOTHING[kind])
    others = [PageSource(f"{SITE}{i}.html", a) for i, a in enumerate(ARTICLES)]
    assert extract_template(odd, others).evidence == 0


def test_no_evidence() -> None:
    key = PageSource(KEY_URL, ARTICLES[0])
    for pages in (
        [],
        [PageSource(KEY_URL + "#top", ARTICLES[1])],
        [PageSource(f"{SITE}copy.html", ARTICLES[0])],
    ):
        found = extract_template(key, pages)
        assert (found.evidence, found.candidates, found.not_template) == (0, [], [])
        assert (found.template_html, found.template_share) == ("", 0)
        assert found.content_text.splitlines()[0] == "The site"
        assert {*CRANES} <= {*found.content_text.splitlines()}
        assert CRANES[1] in found.main_text
        assert found.title == "Site"


def test_code_is_judged_whole() -> None:
    def page(name: str) -> str:
        tokens = "".join(f"<span>{t}</span>" for t in ("def ", name, "():\n    ", "return ", "1"))
        return framed(f"<p>All about {name}.</p><div><pre>{tokens}</pre></div>")

    found = extract(page("cranes"), page("herons"), page("storks"))
    assert found.content_text.split("\n") == ["All about cranes.", "def cranes():", "    return 1"]


def test_rows_that_pages_happen_to_share_are_data() -> None:
    def page(*rows: str) -> str:
        return framed(f"<table>{''.join(f'<tr><td>{row}</td></tr>' for row in rows)}</table>")

    rows = ["Adam Apple", "Berta Birch", "Carl Cole", "Dora Dill", "Emil Elm"]
    others = ["Uwe Ulm", rows[1], "Vera Vine", rows[3], "Willi Wood"]
    assert lines(page(*rows), page(*others), page(*reversed(others))) == rows


@pytest.mark.parametrize(
    "shape",
    [
        "chain",
        pytest.param("table", marks=pytest.mark.slow),
        *(
            pytest.param(name, marks=pytest.mark.nightly)
            for name in sorted(SHAPES.keys() - {"chain", "table"})
        ),
    ],
)
def test_large_pages(shape: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.large_pages", shape],
        cwd=PROJECT,
        # Where coverage is measured, this is not: it would be the time of that as well.
        env={name: value for name, value in os.environ.items() if "COVERAGE" not in name},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]  # a MemoryError, say
    # On a quiet machine none takes more than 10; what is quadratic takes hundreds.
    assert float(done.stdout) < 60


PAGES = page_pairs().map(list) | st.lists(
    st.lists(PIECES, max_size=3).map(lambda parts: framed("".join(parts))), min_size=2, max_size=4
)


@st.composite
def pages_with_a_template(draw: st.DrawFn) -> list[str]:
    """Pages that have something in common, and a key page that is not a copy of another one."""
    pages: list[str] = draw(PAGES)
    owner = draw(st.integers(0, 1))  # a page that is a part of another has no content of its own
    return [
        with_parts(html, "<h2>On every page</h2>" + "<p>In one only</p>" * (place == owner))
        for place, html in enumerate(pages)
    ]


def with_parts(html: str, parts: str) -> str:
    """The page with these parts at the start of its body."""
    start = re.search("<body[^>]*>", html)
    place = start.end() if start else 0
    return html[:place] + parts + html[place:]


def key_and_others(pages: list[str]) -> tuple[PageSource, list[PageSource]]:
    key, *others = pages
    return PageSource(KEY_URL, key), [
        PageSource(f"{SITE}other{i}.html", html) for i, html in enumerate(others)
    ]


def extracted(pages: list[str]) -> PageTemplate:
    return extract_template(*key_and_others(pages))


def serialized(element: Element) -> str:
    return str(etree.tostring(element, encoding="unicode", method="html", with_tail=False))


@given(pages_with_a_template())
def test_the_template_is_closed_under_parents(pages: list[str]) -> None:
    comparison = compare(*key_and_others(pages))
    assert comparison is not None
    template = comparison.template
    assert template[0]
    for element, parent in enumerate(comparison.key.parents):
        assert parent < 0 or template[parent] or not template[element]


@given(pages_with_a_template())
def test_what_is_not_template_is_named_by_its_paths(pages: list[str]) -> None:
    template = extracted(pages)
    root = parse_html(pages[0])
    found = [root.xpath(path) for path in template.not_template]
    assert all(len(elements) == 1 for elements in found)  # type: ignore[arg-type]
    content: list[Element] = [elements[0] for elements in found]  # type: ignore[index,misc]
    rest = template.content_html  # loose texts may stand between the elements
    for html in map(serialized, content):
        assert html in rest
        rest = rest.partition(html)[2]
    assert len({*content}) == len(content)
    for element in content:
        assert not {*element.iterancestors()} & {*content}
    # Loose text may have been taken out as well, though rarely.
    assume("\n".join(map(serialized, content)) == template.content_html)
    for element in content:  # take them out, but not the text after them
        parent, before = element.getparent(), element.getprevious()
        assert parent is not None
        tail = element.tail or ""
        parent.remove(element)
        if before is None:
            parent.text = (parent.text or "") + tail or None  # "" would be a node of its own
        else:
            before.tail = (before.tail or "") + tail
    for top in [root, *root.itersiblings("*")]:
        assert serialized(top) in template.template_html


@given(pages_with_a_template())
def test_no_text_is_lost_or_doubled(pages: list[str]) -> None:
    """By letters: what stood on both sides of an element that is taken out makes one word."""
    template = extracted(pages)
    parts = letters(template.template_html) + letters(template.content_html)
    assert letters(pages[0]) == parts


def letters(html: str) -> Counter[str]:
    """The letters of a page, all of them."""
    return Counter("".join(words(html).elements()))


def words(html: str) -> Counter[str]:
    """The words of a page, all of them."""
    texts: list[str] = select(html, "//text()") if html else []  # type: ignore[assignment]
    return Counter(" ".join(texts).split())


@given(pages_with_a_template())
def test_the_main_text_is_some_of_the_content(pages: list[str]) -> None:
    found = extracted(pages)
    # By letters: of two links side by side, which make one word, one may be left out.
    assert not Counter("".join(found.main_text.split())) - letters(found.content_html)
    assert not words(found.main_html) - words(found.content_html)


def in_other_processes(code: str, given: str = "") -> list[str]:
    """What the code prints in processes whose hashes of texts differ, and with them their sets."""
    return [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=PROJECT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            input=given,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]


@pytest.mark.slow
def test_the_result_is_the_same_in_every_process() -> None:
    examples: list[list[str]] = []

    @settings(database=None, max_examples=60)
    @given(pages_with_a_template())
    def collect(pages: list[str]) -> None:
        examples.append(pages)

    collect()
    code = (
        "import json, sys\n"
        "from tplspider.template.extract import PageSource, compare, extract_template\n"
        "for pages in json.load(sys.stdin):\n"
        "    key, *rest = [PageSource(f'http://x/{i}', html) for i, html in enumerate(pages)]\n"
        "    compared = compare(key, rest)\n"
        "    print(ascii((extract_template(key, rest), compared and compared.template)))\n"
    )
    results = [output.splitlines() for output in in_other_processes(code, json.dumps(examples))]
    assert len(examples) > 50
    for pages, *found in zip(examples, *results, strict=True):
        assert len(set(found)) == 1, pages
    assert all("PageTemplate(" in line for line in results[0])


ALWAYS = frozenset({"key_url", "candidates", "template_share", "evidence", "method"})
FIELDS = frozenset(field.name for field in fields(PageTemplate))


def sources(pages: list[str]) -> list[PageSource]:
    return [PageSource(f"{SITE}page{place}.html", html) for place, html in enumerate(pages)]


SITES = st.lists(page_pairs(), min_size=1, max_size=3).map(
    lambda pairs: sources([page for pair in pairs for page in pair])
)


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


def test_the_sample_of_a_large_page_does_not_depend_on_what_was_seen_before() -> None:
    page, other = (manual(Random(seed), 40_000) for seed in (1, 2))

    def sample(vocabulary: Vocabulary) -> set[Content]:
        flat = flatten(parse_html(page), SITE, vocabulary)
        contents = {number: content for content, number in vocabulary.own.items()}
        return {contents[number] for number in SubtreeBags(flat).bag(0)}

    filled = Vocabulary()
    flatten(parse_html(other), SITE, filled)
    assert sample(Vocabulary()) == sample(filled)

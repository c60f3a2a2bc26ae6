"""What holds for the template of any page."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lxml import etree

from tests.support.crawls import PROJECT
from tests.support.pages import select
from tests.support.template_pages import KEY_URL, PIECES, SITE, framed, page_pairs
from tplspider.template.extract import PageSource, compare, extract_template
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from tplspider.items import PageTemplate
    from tplspider.web.html import Element

HTML = page_pairs().flatmap(
    lambda pair: st.lists(page_pairs(), max_size=1).map(
        lambda more: [*pair, *(page for other in more for page in other)]
    )
)
FRAMED = st.lists(
    st.lists(PIECES, max_size=3).map(lambda parts: framed("".join(parts))), min_size=2, max_size=4
)
PAGES = HTML | FRAMED


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


def sources(pages: list[str]) -> tuple[PageSource, list[PageSource]]:
    key, *others = pages
    return PageSource(KEY_URL, key), [
        PageSource(f"{SITE}other{i}.html", html) for i, html in enumerate(others)
    ]


def extract(pages: list[str]) -> PageTemplate:
    return extract_template(*sources(pages))


def template_of(pages: list[str]) -> PageTemplate:
    template = extract(pages)
    assert template is not None
    return template


def serialized(element: Element) -> str:
    return str(etree.tostring(element, encoding="unicode", method="html", with_tail=False))


@given(pages_with_a_template())
def test_the_template_is_closed_under_parents(pages: list[str]) -> None:
    comparison = compare(*sources(pages))
    assert comparison is not None
    template = comparison.template
    assert template[0]
    for element, parent in enumerate(comparison.key.parents):
        assert parent < 0 or template[parent] or not template[element]


@given(pages_with_a_template())
def test_what_is_not_template_is_named_by_its_paths(pages: list[str]) -> None:
    template = template_of(pages)
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
    template = template_of(pages)
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
    found = template_of(pages)
    # By letters: of two links side by side, which make one word, one may be left out.
    main, content = ("".join(text.split()) for text in (found.main_text, found.content_text))
    assert not Counter(main) - Counter(content)
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


@pytest.mark.slow
def test_the_order_of_hashes_does_not_matter() -> None:
    code = (
        "import hashlib; from benchmarks.extraction import *;"
        "kinds = {manual: 50_000, members: 50_000, records: 900, table: 900, shuffled: 300};"
        "found = [extract_template(key, rest) for kind, size in kinds.items()"
        " for key, *rest in [pages(kind, size)]];"
        "print(hashlib.sha256(repr(found).encode()).hexdigest())"
    )
    (result,) = set(in_other_processes(code))
    assert len(result.strip()) == 64


def test_pages_a_thousand_deep() -> None:
    def page(words: str) -> str:
        return f"<body><b>Menu</b>{'<div>' * 1000}<p>{words}</p><script>x</script><i>{words}</i>"

    template = extract([page("cranes"), page("herons")])
    found = [select(page("cranes"), path) for path in template.not_template]
    assert [element.tag for (element,) in found] == ["p", "i"]
    assert all(len(path) < 100 for path in template.not_template)


def test_random_characters_are_no_trouble() -> None:
    random = Random(1)
    signs = "<>/=\"' &;#!-[]{}abp?\x00\x7f\ufeffé漢\n"
    for _ in range(200):
        noise = ["".join(random.choices(signs, k=60)) for _ in range(3)]
        assert not extract(noise).evidence  # they have nothing in common
        pages = [framed(text) for text in noise]
        template = template_of(pages)
        assert "Reference" in template.template_html
        assert "Reference" not in template.content_html
        assert words(pages[0]) == words(template.template_html) + words(template.content_html)

"""What holds for the template of any page."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from random import Random
from typing import TYPE_CHECKING

from conftest import PROJECT
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from pages import select
from template_pages import KEY_URL, PIECES, SITE, framed, page_pairs

from tplspider.template import PageSource, compare, extract_template
from tplspider.tree import parse_html

if TYPE_CHECKING:
    from tplspider.items import PageTemplate
    from tplspider.tree import Element

HTML = page_pairs().flatmap(
    lambda pair: st.lists(page_pairs(), max_size=1).map(
        lambda more: [*pair, *(page for other in more for page in other)]
    )
)
FRAMED = st.lists(
    st.lists(PIECES, max_size=3).map(lambda parts: framed("".join(parts))), min_size=2, max_size=4
)
PAGES = HTML | FRAMED


def sources(pages: list[str]) -> tuple[PageSource, list[PageSource]]:
    key, *others = pages
    return PageSource(KEY_URL, key), [
        PageSource(f"{SITE}other{i}.html", html) for i, html in enumerate(others)
    ]


def extract(pages: list[str]) -> PageTemplate:
    return extract_template(*sources(pages))


def serialized(element: Element) -> str:
    return str(etree.tostring(element, encoding="unicode", method="html", with_tail=False))


@given(PAGES)
def test_the_template_is_closed_under_parents(pages: list[str]) -> None:
    comparison = compare(*sources(pages))
    if comparison is None:
        return
    template = comparison.template
    assert template[0]
    for element, parent in enumerate(comparison.key.parents):
        assert parent < 0 or template[parent] or not template[element]


@given(PAGES)
def test_what_is_not_template_is_named_by_its_paths(pages: list[str]) -> None:
    template = extract(pages)
    if not template.evidence:
        return
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
    if "\n".join(map(serialized, content)) != template.content_html:
        return  # loose text was taken out as well
    for element in content:  # take them out, but not the text after them
        parent, before = element.getparent(), element.getprevious()
        assert parent is not None
        tail = element.tail or ""
        parent.remove(element)
        if before is None:
            parent.text = (parent.text or "") + tail
        else:
            before.tail = (before.tail or "") + tail
    for top in [root, *root.itersiblings("*")]:
        assert serialized(top) in template.template_html


@given(PAGES)
def test_no_text_is_lost_or_doubled(pages: list[str]) -> None:
    template = extract(pages)
    if not template.evidence:
        return
    words = Counter(" ".join(texts(pages[0])).split())
    kept = Counter(" ".join(texts(template.template_html)).split())
    left = Counter(" ".join(texts(template.content_html)).split())
    assert words == kept + left


def texts(html: str) -> list[str]:
    """The texts of a page, all of them."""
    return select(html, "//text()") if html else []  # type: ignore[return-value]


@given(PAGES)
def test_the_main_text_is_some_of_the_content(pages: list[str]) -> None:
    found = extract(pages)
    if not found.evidence:
        return
    assert not Counter(found.main_text.split()) - Counter(found.content_text.split())
    assert not Counter(" ".join(texts(found.main_html)).split()) - Counter(
        " ".join(texts(found.content_html)).split()
    )


@given(PAGES)
def test_the_result_is_the_same_each_time(pages: list[str]) -> None:
    assert extract(pages) == extract(pages)


def test_the_order_of_hashes_does_not_matter() -> None:
    code = (
        "import hashlib; from benchmarks.extraction import *;"
        "kinds = {manual: 50_000, members: 50_000, records: 900, table: 900, shuffled: 300};"
        "found = [extract_template(key, rest) for kind, size in kinds.items()"
        " for key, *rest in [pages(kind, size)]];"
        "print(hashlib.sha256(repr(found).encode()).hexdigest())"
    )
    results = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=PROJECT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(results) == 1
    assert len(results.pop().strip()) == 64


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
        extract([framed(text) for text in noise])
        extract(noise)

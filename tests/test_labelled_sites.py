"""The labels of the corpus of small websites: from where the elements come from."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from benchmarks.labelled_sites.__main__ import build_site
from benchmarks.labelled_sites.align import Node, align
from benchmarks.labelled_sites.catalogue import SITES
from benchmarks.labelled_sites.labels import LabelError, label
from benchmarks.labelled_sites.marks import ANY, Variant, as_variant, without_marks
from benchmarks.labelled_sites.markup import markdown, rst
from benchmarks.labelled_sites.plan import Page, Spec, make_plan
from benchmarks.labelled_sites.prose import Block, articles
from tests.support.crawls import PROJECT
from tplspider.web.html import parse_html

if TYPE_CHECKING:
    from pathlib import Path

    from tplspider.web.html import Element

PAGE = """<!DOCTYPE html>
<html><head><title>{title} - Site</title></head>
<body>
<nav><a href=/>Home</a>
<ul class='menu'><li><a href=a>{a}Animals</a><li><a href=b>{b}Birds</a></ul></nav>
<main id=main>{body}</main>
<aside>{aside}</aside>
<p>Written with care</p>
<script>title = "{title}"</script>
</body></html>
"""


def page(title: str, body: str, *, a: str = "", b: str = "", aside: str = "") -> str:
    return PAGE.format(title=title, body=body, a=a, b=b, aside=aside)


def labelled(body: tuple[str, str, str], aside: tuple[str, str, str] = ("", "", "")) -> str:
    """A page with its labels, from what its three builds say."""
    return label(
        page("Cranes", body[0], aside=aside[0]),
        page("Zqtitle Cranes", body[1], a="Zqmenua ", b="Zqmenub ", aside=aside[1]),
        page("Untitled", body[2], aside=aside[2]),
    )


def tags_with(name: str, html: str) -> list[str]:
    return re.findall(rf"<(\w+)[^>]*{name}", html)


BODY = (
    "<h1 id=cranes>Cranes</h1><p class=x>Tall.</p><p>Grey.</p>",
    "<h1 id=zqtitle-cranes>Zqtitle Cranes</h1><p class=x>Zqbody Tall.</p><p>Zqbody Grey.</p>",
    "<h1 id=untitled>Untitled</h1>",
)


def test_the_body_is_not_template_and_the_rest_is() -> None:
    html = labelled(BODY)
    assert tags_with("TECO_notTemplate", html) == ["h1", "p", "p"]
    assert tags_with("TECO_mainContent", html) == ["main"]
    assert tags_with("TECO_mainMenu", html) == ["ul"]


def test_nothing_but_classes_changes_in_the_source() -> None:
    html = labelled(BODY)
    assert '<p class="x TECO_notTemplate">Tall.' in html
    assert '<ul class="menu TECO_mainMenu">' in html
    assert '<h1 class="TECO_notTemplate" id=cranes>' in html
    bare = re.sub(r' class="TECO_\w+"| TECO_\w+', "", html)
    assert bare.replace('"x"', "x").replace('"menu"', "'menu'") == page("Cranes", BODY[0])


def test_the_title_is_labelled_where_the_theme_shows_it() -> None:
    texts = ("<b>Cranes</b><i>!</i>", "<b>Zqtitle Cranes</b><i>!</i>", "<b>Untitled</b><i>!</i>")
    html = labelled(BODY, texts)
    assert tags_with("TECO_notTemplate", html) == ["h1", "p", "p", "b"]


def test_what_an_empty_page_does_not_have_is_not_template() -> None:
    contents = "<div><h4>Contents</h4><a href=#cranes>{}Cranes</a></div><hr>"
    html = labelled(BODY, (contents.format(""), contents.format("Zqtitle "), "<hr>"))
    assert tags_with("TECO_notTemplate", html) == ["h1", "p", "p", "div"]


def test_wrappers_of_an_empty_page_are_template() -> None:
    neighbours = "<ul><li><a href=x>{}Storks</a></li></ul>"
    empty = "<ul><li></li></ul>"
    html = labelled(BODY, (neighbours.format(""), neighbours.format("Zqmeta "), empty))
    assert tags_with("TECO_notTemplate", html) == ["h1", "p", "p", "a"]


def test_signs_between_links_do_not_count() -> None:
    bar = "<div>{}<a href=i>index</a></div>"
    before = "<a href=s>{}Storks</a> | "
    texts = (bar.format(before.format("")), bar.format(before.format("Zqmeta ")), bar.format(""))
    html = labelled(BODY, texts)
    assert '<div><a class="TECO_notTemplate" href=s>Storks</a> | <a href=i>' in html


def test_an_image_is_known_by_its_attributes() -> None:
    image = "<img src=logo.png alt='{}'>"
    texts = tuple(image.format(alt) for alt in ("Cranes", "Zqtitle Cranes", "Untitled"))
    assert tags_with("TECO_notTemplate", labelled(BODY, texts)) == ["h1", "p", "p", "img"]  # type: ignore[arg-type]


def test_an_element_made_for_a_title_is_not_template() -> None:
    section = "<section id={}><h1>{}</h1>{}</section>"
    html = labelled(
        (
            section.format("cranes", "Cranes", "<p>Tall.</p>"),
            section.format("zqtitle-cranes", "Zqtitle Cranes", "<p>Zqbody Tall.</p>"),
            section.format("untitled", "Untitled", ""),
        )
    )
    assert tags_with("TECO_notTemplate", html) == ["section"]
    assert tags_with("TECO_mainContent", html) == ["main"]


def test_labels_that_make_no_sense_are_refused() -> None:
    with pytest.raises(LabelError, match="body of the page is nowhere"):
        labelled(("<p>One</p>", "<p>One</p>", ""))
    with pytest.raises(LabelError, match="no main menu"):
        label(page("A", BODY[0]), page("A", BODY[1]), page("A", BODY[2]))
    with pytest.raises(LabelError, match="of the text is not template"):
        labelled(tuple(text.replace("Grey", "grey " * 2000) for text in BODY))  # type: ignore[arg-type]
    with pytest.raises(LabelError, match="a mark is left"):
        label(*(page("Zqtitle", text, a="Zqmenua ") for text in BODY))
    with pytest.raises(LabelError, match="nothing is template"):
        labelled((f"{BODY[0]}</main>raw", f"{BODY[1]}</main>raw", BODY[2]))


def test_alignment_keeps_order_and_prefers_what_is_alike() -> None:
    def items(*texts: str) -> Node:
        return Node(parse_html("".join(f"<li class=x>{text}</li>" for text in texts))[0])

    left, right = items("next", "previous", "index", "home"), items("index", "home")
    pairs = {a.text: b.text for a, b in align(left, right).items() if a.text}
    assert pairs == {"index": "index", "home": "home"}
    left, right = items("a", "b"), items("b", "a")
    assert len(align(left, right)) == 3  # the body, and two items in their order


def test_every_text_of_a_page_is_marked() -> None:
    plan = make_plan(SITES[0])
    key = next(page for page in plan.pages if page.source == plan.key)
    marked = as_variant(key, Variant.MARKED)
    for text in (markdown(marked, str), rst(marked, "")):
        shown = re.sub(r"^\.\. .+\n( +:.+\n)?\n", "", text, flags=re.MULTILINE)
        assert [block for block in re.split(r"\n\n", shown) if not ANY.search(block)] == []
    assert without_marks(markdown(marked, str)) == markdown(key, str)
    assert without_marks(marked.title) == key.title


def test_plans_are_the_same_every_time() -> None:
    assert len(articles()) >= 50
    assert len({spec.name for spec in SITES}) == len(SITES) >= 14
    code = (
        "from benchmarks.labelled_sites.catalogue import SITES;"
        "from benchmarks.labelled_sites.plan import make_plan;"
        "print(*map(make_plan, SITES), sep=chr(10))"
    )
    # In processes whose hashes of texts differ, and with them the order of their sets.
    one, two = (
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=PROJECT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    )
    assert one.count("Plan(") == len(SITES)
    assert one == two
    for spec in SITES:
        assert spec.pages + 3 + spec.sections >= 25


def test_markup_shows_what_it_means() -> None:
    odd = Page("s", "odd", "Odd", (Block("paragraph", ('A *b* "c" <d> _e_ f|g [h](i) `j',)),))
    assert markdown(odd, str).count("\n") == 1
    assert "`c`" in markdown(odd, str)
    assert "``c``" in rst(odd, "")
    assert "&lt;d&gt;" in markdown(odd, str)


@pytest.mark.slow
@pytest.mark.parametrize("generator", ["mkdocs", "sphinx", "nikola"])
def test_a_site_is_built_and_labelled(generator: str, tmp_path: Path) -> None:
    pytest.importorskip(generator)
    theme = {"mkdocs": "mkdocs", "sphinx": "alabaster", "nikola": "bootblog4"}[generator]
    spec = Spec("site", generator, theme, 5, messy=("farm", "related"), pages=9)  # type: ignore[arg-type]
    row = build_site(spec, tmp_path)
    files = list(tmp_path.rglob("*.html"))
    assert row["html_pages"] == str(len(files))
    key = tmp_path / "site" / row["key_path"].lstrip("/")
    tree = parse_html((key / "index.html" if key.is_dir() else key).read_text("utf-8"))

    def with_class(name: str) -> list[Element]:
        return [node for node in tree.iter("*") if name in node.get("class", "").split()]

    (content,), (menu,) = with_class("TECO_mainContent"), with_class("TECO_mainMenu")
    own = {inner for node in with_class("TECO_notTemplate") for inner in node.iter()}
    assert "You may also like" in {node.text for node in own}
    assert {"About", "Contact"} <= {(link.text or "").strip() for link in menu.iter("a")}
    assert own.isdisjoint([content, menu, *with_class("link-farm")])
    assert own.issuperset(content.iter("p", "h1", "pre"))
    assert sum(b"TECO_" in file.read_bytes() for file in files) == 1

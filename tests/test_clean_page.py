import re

import pytest

from tplspider.report.clean_page import MOST, clean_again, clean_page
from tplspider.template.extract import PageSource, extract_template
from tplspider.web.html import parse_html, visible_text

URL = "http://example.org/"
HOSTILE = """
<html><head><title>T</title><base href="//evil/"><link rel=stylesheet href=//evil/x.css>
<meta http-equiv=refresh content="0;url=//evil/"><style>@import "//evil/"</style>
<script>alert(1)</script></head>
<body onload="alert(1)" background="//evil/b.png" style="background:url(//evil/)">
<script>alert(2)</script><noscript><img src="//evil/n.png"></noscript>
<p style="color:red" onclick="alert(3)" data-own="" class="x" id="y">Words</p>
<a href="javascript:alert(4)" ping="//evil/" target=_top>A link</a>
<a href="//evil/">Another</a>
<img src="//evil/i.png" srcset="//evil/2.png 2x" alt="A crane" onerror="alert(5)">
<picture><source srcset="//evil/3.png"><img src="//evil/4.png" alt="A heron"></picture>
<video poster="//evil/p.png" src="//evil/v.mp4"><track src=x></video><audio src=x></audio>
<object data="//evil/o"><p>in an object</p></object><embed src="//evil/e">
<iframe src="//evil/f" srcdoc="<script>alert(6)</script>"></iframe>
<svg onload="alert(7)"><use href="//evil/#u"/><script>alert(8)</script></svg>
<math><mtext><style><img src=x onerror=alert(9)></style></mtext></math>
<form action="//evil/" method=post><input name=q value=v autofocus onfocus=alert(10)>
<button formaction="//evil/">Send</button>
<textarea>&lt;/textarea>&lt;script>alert(11)&lt;/script></textarea></form>
<xmp><script>alert(12)</script></xmp><plaintext-x>Unknown</plaintext-x>
<!-- <script>alert(13)</script> --><?php evil ?>
<table><tr><td colspan=2 rowspan="2 onclick=x">Cell</td></tr></table>
<template><img src=x></template>
</body></html>
"""
HARMLESS_TAGS = {*"div p a span table tr td pre tbody".split()}


def test_nothing_is_left_that_does_anything() -> None:
    cleaned = clean_page(HOSTILE, URL)
    root = parse_html(cleaned)
    assert {str(element.tag) for element in root.iter()} <= HARMLESS_TAGS | {"html", "body"}
    assert {name for element in root.iter() for name in element.attrib} <= {"colspan", "rowspan"}
    assert "evil" not in cleaned
    assert "<script" not in cleaned
    assert "<!--" not in cleaned


def test_words_stay() -> None:
    text = visible_text(parse_html(clean_page(HOSTILE, URL)))
    words = ("Words", "A link", "Another", "[A crane]", "[A heron]", "Send", "Unknown", "Cell")
    assert all(each in text for each in (*words, "in an object"))  # which is not loaded
    assert "</textarea><script>alert(11)</script>" in text  # words, and no markup


def test_what_is_not_clean_is_cleaned_again() -> None:
    again = clean_again(HOSTILE)
    assert "evil" not in again
    assert re.findall(r"<\w+ data-own", again) == ["<p data-own"]
    cleaned = clean_page("<p>a<p>b", URL, not_template=["/html/body/p[2]"])
    assert "data-own" in clean_again(cleaned)


@pytest.mark.parametrize(
    ("html", "words"),
    [
        ("<frameset cols=1><frame src=a.html><noframes><p>Old words</noframes>", "Old"),
        ("<frameset cols=1><frame src=a.html></frameset>", "made of frames"),
        ("<html><p>Before</html><p>After", "After"),
        ("", ""),
        ("\ud800\x00 lone", "lone"),
    ],
)
def test_odd_pages(html: str, words: str) -> None:
    cleaned = clean_page(html, URL)
    assert words in visible_text(parse_html(cleaned))
    assert "src" not in cleaned
    cleaned.encode()


SWALLOWING = {
    "svg": "<svg><circle r=1><p>AFTER1</p><g>AFTER2</g><div>AFTER3</div>",
    "svg in svg": "<svg><g><svg><path><h1>AFTER1</h1></svg></g>AFTER2 </svg>AFTER3",
    "words of svg": "<svg><defs><text>gone</text></defs><text>A1</text></svg><p>A2",
    "svg and lists": "<ul><li><svg><path></li><li>AFTER1</ul><svg><g><p>AFTER2</p>" * 3,
    "image": "<image alt=x><p>AFTER1</p><image>AFTER2<p>AFTER3",
    "object": "<object data=x><param name=x>AFTER1<p>AFTER2",
    "details": "<details open><summary>A1</summary>A2</details>A3",
    "options": "<select><option>ONE<option>TWO</select><p>AFTER",
}


@pytest.mark.parametrize("name", SWALLOWING)
def test_nothing_swallows_what_follows(name: str) -> None:
    page = f"<!DOCTYPE html><p>before</p>{SWALLOWING[name]}"
    cleaned = clean_page(page, URL)
    text = visible_text(parse_html(cleaned))
    wanted = re.findall(r"A(?:FTER)?\d?\b|ONE|TWO", re.sub("<[^<>]*>", " ", SWALLOWING[name]))
    assert re.findall(r"A(?:FTER)?\d?\b|ONE|TWO", text) == wanted
    assert "gone" not in text
    assert visible_text(parse_html(clean_again(cleaned))) == text
    assert "open" in cleaned or name != "details"


@pytest.mark.slow
def test_a_large_page_is_cut_with_a_note() -> None:
    page = "<ul>" + "<li lang=en>é &amp; ü</li>" * 100_000
    cleaned = clean_page(page, URL)
    assert MOST - 100 < len(cleaned.encode()) < MOST + 300
    body, _, note = cleaned.partition("<p><em>")
    assert "The page is cut here" in note
    assert re.search(r"</?\w[^<>]*\Z", body) is None  # not in the midst of a tag
    assert clean_again(cleaned).count("The page is cut here") == 1
    assert len(clean_again("<p data-own>" + "word " * 1_000_000).encode()) < MOST + 20_000


def test_own_elements_are_marked_as_the_extractor_names_them() -> None:
    def page(words: str, more: str) -> str:
        menu = "".join(f"<li><a href=/{name}>{name}</a></li>" for name in "abcdef")
        return (
            f"<html><head><title>{words}</title></head><body><script>var x</script>"
            f"<form><input><ul>{menu}</ul></form><img src=x><div id=main><h1>{words}</h1>"
            f"<o:p>{more}</o:p><p>{more} for itself, a sentence of its own</p></div>"
            "<footer><p>All rights</p></footer></body></html>"
        )

    key = page("Cranes", "They are tall")
    others = [PageSource(f"{URL}{n}", page(n, f"{n} is another")) for n in ("herons", "storks")]
    template = extract_template(PageSource(URL, key), others)
    assert template.not_template
    cleaned = clean_page(key, URL, not_template=[*template.not_template, "not a path ((", "1"])
    own = [element for element in parse_html(cleaned).iter() if "data-own" in element.attrib]
    texts = " ".join(str(text) for element in own for text in element.itertext())
    assert "Cranes" in texts
    assert "sentence of its own" in texts
    assert "All rights" not in texts
    assert len(own) == len(template.not_template)

"""Markdown of parts of pages: each trap by itself, and that no word is lost."""

import logging
import re
from collections import Counter
from collections.abc import Callable
from html import unescape
from time import process_time
from types import SimpleNamespace

import html_to_markdown
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tplspider import PageSource, extract_template
from tplspider.template.lines import text_lines
from tplspider.template.markdown import add_markdown, to_markdown
from tplspider.web.html import parse_html

BASE = "https://example.org/docs/page.html"

# The words of Markdown are runs of letters, digits and underscores. What is in addresses, in images
# and in the first lines of fences is left out, and so are the marks, of the text as well.
_ADDRESS = r"\((?:<[^>]*>|(?:\\.|[^()\s\\]|\([^()\s]*\))*)\)"
_IMAGE = re.compile(r"!\[(?:\\.|[^\]\\])*\]" + _ADDRESS)
_LINK = re.compile(r"\]" + _ADDRESS)
_FENCE = re.compile(r"^[\s>*+-]*(?:\d+\. *)?`{3,}[^`\n]*$", re.MULTILINE)
_MARKS = re.compile(r"\\|\*|~~|`|\[|\]")


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", _MARKS.sub("", unescape(text))))


def words_of_markdown(markdown: str) -> Counter[str]:
    without_fences = _FENCE.sub("", markdown)
    return words(_LINK.sub("]", _IMAGE.sub("", without_fences)))


def missing(text: str, markdown: str) -> Counter[str]:
    """The words of the text that are not in the Markdown as often."""
    return words(text) - words_of_markdown(markdown)


TD, RULE = "<table><tr><td", "| --- | --- |"
CASES = {
    "headings": ("<h1>One</h1><h3>A<br>b <a href=c>c</a></h3>", "# One\n\n### A b [c](%s/c)"),
    "link with blocks": ("<a href=x><h2>H</h2><p>w</p></a>", "## [H](%s/x)\n\n[w](%s/x)"),
    "no words": ("<a href=x></a><b> </b><p>a</p>", "a"),
    "no address": ("<a href='javascript:f()'>js</a> <a name=x>here</a>", "js here"),
    "image": ("<p><img src=i.png alt='an  alt'></p>", "![an alt](%s/i.png)"),
    "lazy image": ("<img src='data:image/gif;base64,R0' data-src=i.png>", "![](%s/i.png)"),
    "image without an address": ("<img alt='an alt'>", "an alt"),
    "list": ("<ul><li>a<ul><li>b</ul><li><p>c</p></ul>", "- a\n  * b\n- c"),
    "list of others": ("<ul>loose<div>other</div></ul>", "- loose\n- other"),
    "counted list": ("<ol start=5><li>a<li>b</ol>", "5. a\n6. b"),
    "table": (f"{TD}>x</td><th>y</th></tr><tr><td>a|b<td>c", f"| x | y |\n{RULE}\n| a\\|b | c |"),
    "wide cell": (f"{TD} colspan=2>a<tr><td>b<td>c</table>", f"| a | |\n{RULE}\n| b | c |"),
    "table for layout": (f"{TD}>a<td>{TD}>b</table></table>", "a\n\n| b |\n| --- |"),
    "break": ("<p>a<br>b<br><br>c</p>", "a  \nb\n\nc"),
    "hidden": ("<p hidden>a</p><p style='display:none'>b</p>", "a\n\nb"),
    "scripts": ("<p>a<script>b</script><style>c</style><template>d</template>f</p>", "af"),
    "noscript": ("<p>a<noscript>b</noscript>c</p>", "ac"),
    "words in tags": ("<p>a &lt;b&gt; &amp;lt; 1 &lt; 2</p>", "a &lt;b> &amp;lt; 1 < 2"),
    "inline code": ("<p><code>a<b>_b</b> &lt;i&gt;</code></p>", "`a_b <i>`"),
    "link in code": ("<code>f(<a href=x>T</a>)</code>", "`f(`[`T`](%s/x)`)`"),
    "cells without a table": ("<td>a</td><tr><td>b", "a\n\nb"),
    "unclosed": ("<ul><li>a<b>b<p>c<table><tr><td>d", "- a**b**\n\n  c\n\n    | d |\n    | --- |"),
}


@pytest.mark.parametrize(("html", "markdown"), CASES.values(), ids=CASES)
def test_elements(html: str, markdown: str) -> None:
    found = to_markdown(html, BASE)
    assert found == markdown.replace("%s", "https://example.org/docs")


def links_of(html: str) -> set[str]:
    """The addresses of links and images of the Markdown of some HTML, as a reader renders it."""
    rendered = parse_html(MarkdownIt().render(to_markdown(html, BASE)))
    return {
        each.get("href", each.get("src", "")) for each in rendered.iter("a", "img") if each.attrib
    }


@pytest.mark.parametrize(
    "html",
    [
        "<p>[x](javascript:f()) ![x](http://evil.test/i.png)</p>",
        "<p>[x]<span>(http://evil.test/)</span> ![x]<i></i>(http://evil.test/)</p>",
        "<p>[x]: http://evil.test/</p><p>[x] ![x] [y][x]</p>",
        "<p>[x]<b></b>: http://evil.test/</p><p>[x]</p>",
        "<p>&lt;http://evil.test/&gt; &lt;<span>http://evil.test/&gt;</span> &lt;a@b.test&gt;</p>",
        "<p>&lt;<b></b>img src=http://evil.test/&gt; &lt;script&gt;</p>",
        "<h1>[x](http://evil.test/)</h1><ul><li>[x](http://evil.test/)</ul>",
        "<table><tr><th>[x](http://evil.test/)<th>b<tr><td>[x]: u<td>c</table>",
        "<a name=x>[x](http://evil.test/)</a><img alt='[x](http://evil.test/)'>",
        "<a href='java\tscript:f()'>js</a> <a href='\x01javascript:f()'>js</a>",
        "<a href='\x00 java\nscript:f()'>js</a><img src='\x1fda\x0bta:x' data-src='vb\tscript:x'>",
    ],
)
def test_words_are_no_links(html: str) -> None:
    assert links_of(html) == set()
    text = "\n".join(text_lines(parse_html(html)))
    assert not missing(text, to_markdown(html, BASE))


@pytest.mark.parametrize("words", ["x](http://evil.test/", "]: u", "a]b[c", "[1]", "x\\](u", "!["])
def test_links_and_images_with_such_words_lead_where_they_led(words: str) -> None:
    for html in (f"<p>!<a href=/l>{words}</a>", f"{words}<a href=/l>x</a>{words}"):
        assert links_of(html) == {"https://example.org/l"}
        rendered = MarkdownIt().render(to_markdown(html, BASE))
        assert "<img" not in rendered
    assert links_of(f"<img src=/i.png alt='{words}'>") == {"https://example.org/i.png"}


SIGNS = "[ ] ( ) ! : < > \\ x u: &lt; ` <b> </b> <p> <br> <a/href=l> </a> <img/src=i>".split()


@given(st.lists(st.sampled_from([*SIGNS, " ", "\n"]), max_size=14).map("".join))
def test_there_are_no_links_but_those_of_the_page(html: str) -> None:
    assert links_of(html) <= {f"https://example.org/docs/{name}" for name in "li"}


PYGMENTS = """<div class="highlight-python notranslate"><table class="highlighttable"><tr>
<td class="linenos"><div class="linenodiv"><pre>1\n2</pre></div></td>
<td class="code"><div class="highlight"><pre><span></span>a = 1\n  b = 2\n</pre></div></td>
</tr></table></div>"""
HEXO = """<figure class="highlight python"><table><tr>
<td class="gutter"><pre><span class="line">1</span><br><span class="line">2</span><br></pre></td>
<td class="code"><pre><span class="line">a = 1</span><br><span class="line">  b = 2</span><br></pre>
</td></tr></table></figure>"""
CHROMA = """<div class="highlight"><div class="chroma"><table class="lntable"><tr><td class="lntd">
<pre><code><span class="lnt">1\n</span><span class="lnt">2\n</span></code></pre></td>
<td class="lntd"><pre><code class="language-python" data-lang="python">a = 1\n  b = 2\n</code></pre>
</td></tr></table>
</div></div>"""
ROWS = """<div class="highlight-source-python"><table class="highlight">
<tr><td class="blob-num" data-line-number="1"></td><td class="blob-code">a = 1</td></tr>
<tr><td class="blob-num" data-line-number="2"></td><td class="blob-code">  b = 2</td></tr>
</table></div>"""
IN_PRE = """<pre><code class="hljs python"><table><tr><td class="hljs-ln-numbers">1</td>
<td class="hljs-ln-code">a = 1</td></tr><tr><td class="hljs-ln-numbers">2</td>
<td class="hljs-ln-code">  b = 2</td></tr></table></code></pre>"""
NUMBERS_INSIDE = """<pre class="brush: python; gutter: true"><span class="linenos">1</span>a = 1
<span class="linenos">2</span>  b = 2</pre>"""


@pytest.mark.parametrize("html", [PYGMENTS, HEXO, CHROMA, ROWS, IN_PRE, NUMBERS_INSIDE])
def test_code_with_line_numbers_is_fenced(html: str) -> None:
    assert to_markdown(html, BASE) == "```python\na = 1\n  b = 2\n```"


@pytest.mark.parametrize(
    ("html", "language"),
    [
        ('<pre><code class="language-rust">x</code></pre>', "rust"),
        ('<pre class="lang-C++"><code>x</code></pre>', "c++"),
        ('<div class="highlight-default notranslate"><pre>x</pre></div>', ""),
        ('<div class="highlight-console notranslate"><div><pre>x</pre></div></div>', "console"),
        ('<pre class="brush:js">x</pre>', "js"),
        ('<pre class="sourceCode haskell">x</pre>', "haskell"),
        ('<pre data-lang="go">x</pre>', "go"),
        ('<pre class="src src-sh">x</pre>', "sh"),
        ('<pre class="language-a\nb\t`">x</pre>', "a"),
        ('<pre class="language-`">x</pre>', ""),
        ('<article class="language-en"><pre>x</pre></article>', ""),
        ("<pre>x</pre>", ""),
    ],
)
def test_language(html: str, language: str) -> None:
    assert to_markdown(html, BASE) == f"```{language}\nx\n```"


def test_code_is_verbatim() -> None:
    code = "if a < b && c:\n\n\tprint(`x`, *y, '\\n')  # <b>\n    ```"
    escaped = code.replace("&", "&amp;").replace("<", "&lt;")
    assert to_markdown(f"<pre>{escaped}</pre>", BASE) == f"````\n{code}\n````"


def test_a_template_with_markdown() -> None:
    menu = "<base href='/a/'><ul><li>Home<li>News</ul>"
    key = PageSource("https://example.org/a", f"{menu}<p>Only <a href=b>here</a>.</p>")
    found = extract_template(key, [PageSource("https://example.org/b", f"{menu}<p>Else.</p>")])
    assert (found.main_markdown, found.content_markdown) == ("", "")
    add_markdown(found, key.html)
    assert found.main_markdown == "Only [here](https://example.org/a/b)."
    assert found.content_markdown == found.main_markdown


HOSTILE: dict[str, Callable[[], str]] = {
    "nothing": str,
    "deep": lambda: "<div>a" * 50_000,
    "deep lists": lambda: "<ul><li>a" * 50_000,
    "deep quotes": lambda: "<blockquote>a" * 50_000,
    "deep tables": lambda: "<table><tr><td>a" * 50_000,
    "deep emphasis": lambda: "<b><i><a href=x>" * 50_000 + "a",
    "deep code": lambda: "<pre>a\n<code>" * 20_000,
    "uneven table": lambda: "<table><tr>" + "<td>a" * 10_000 + "<tr><td>b" * 10_000,
    "wide cells": lambda: "<table>" + "<tr><td colspan=999999999>a<td rowspan=99999>b" * 2000,
    "odd characters": lambda: "a\0b\ud800\udfff\x01\x0b\u2028\ufffe" * 1000,
    "odd addresses": lambda: "<a href='http://[\n'>a</a><img src='//'><a href=')(\\<>'>b</a>" * 999,
    "signs": lambda: "<p>" + "[*_`|<&\\" * 20_000,
    "cut off": lambda: "<table><tr><td><a href='",
}


@pytest.mark.slow
@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_hostile_pages(make: Callable[[], str]) -> None:
    html = make()
    start = process_time()
    found = to_markdown(html, BASE)
    assert process_time() - start < 20
    assert len(found) < 30 * len(html) + 100
    assert not missing("\n".join(text_lines(parse_html(html))), found)


class Panic(BaseException):
    """As those of Rust are."""


@pytest.mark.parametrize("fault", [Panic("a"), ValueError("b"), RecursionError()])
def test_a_package_that_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fault: BaseException
) -> None:
    real = html_to_markdown.convert

    def convert(html: str, options: html_to_markdown.ConversionOptions) -> object:
        if "bad" in html:
            raise fault
        if "lossy" in html:
            return SimpleNamespace(content="nothing")
        return real(html, options)

    monkeypatch.setattr(html_to_markdown, "convert", convert)
    with caplog.at_level(logging.WARNING):
        found = to_markdown("<h1>One</h1><p>bad <b>words</b></p><p>lossy <i>ones</i></p>", BASE)
    assert found == "# One\n\nbad words\n\nlossy ones"
    assert type(fault).__name__ in caplog.text


TAGS = (
    "a b blockquote br button caption code dd del div dl dt em form h1 h2 hr i iframe img input li"
    " nav noscript ol option p pre script select span sup svg table tbody td textarea th tr ul"
).split()
# Without backticks: spaces that Markdown wants beside those in code would count as ends of words.
TEXTS = st.text("ab1_ \n*#-.<&|\\é", max_size=8).map(
    lambda text: text.replace("&", "&amp;").replace("<", "&lt;")
)
PARTS = st.recursive(
    TEXTS,
    lambda inner: st.builds(
        lambda tag, parts, closed: f"<{tag} href=x src=y>{''.join(parts)}{f'</{tag}>' * closed}",
        st.sampled_from(TAGS),
        st.lists(inner, max_size=4),
        st.booleans(),
    ),
    max_leaves=25,
)


@given(st.lists(PARTS, min_size=1, max_size=4).map("".join))
def test_no_word_is_lost(html: str) -> None:
    text = "\n".join(text_lines(parse_html(html)))
    assert not missing(text, to_markdown(html, BASE))

"""Pages for the tests of the template extractor: random small trees, and a site with a frame."""

from collections.abc import Sequence

from hypothesis import strategies as st

from tplspider.items import PageTemplate
from tplspider.template.extract import PageSource, extract_template
from tplspider.template.flat_page import FlatPage, Vocabulary, flatten
from tplspider.web.html import parse_html

SITE = "http://example.org/docs/"
KEY_URL = f"{SITE}key.html"

# Few of each, so that two pages have much in common.
_OPENINGS = st.sampled_from(
    [
        *("div", "div class=box", "div id=main class='box wide'", "ul", "ul class=menu", "li"),
        *("section id=s-1", "section id=s-2", "span", "o:p", "a$b", "noscript"),
    ]
)
_LEAVES = st.sampled_from(
    [
        *("alpha ", "beta gamma ", "<p>delta</p>", "<p>epsilon <b>zeta</b> eta</p>"),
        *("<a href=a.html>first</a>", "<a href=/docs/a.html class=current>first</a>"),
        *("<a href=key.html>second</a>", "<a href=#part>third</a>", "<br>", "\n  "),
        *("<img src=logo.png alt=theta>", "<!-- a comment --> iota", "<script>go()</script> kappa"),
    ]
)
PIECES = st.recursive(
    _LEAVES,
    lambda inner: st.builds(
        lambda opening, parts: f"<{opening}>{''.join(parts)}</{opening.split()[0]}>",
        _OPENINGS,
        st.lists(inner, max_size=4),
    ),
    max_leaves=12,
)
_SHELLS = st.sampled_from(
    [
        "<html><head><title>A page</title></head><body>{}</body></html>",
        "<html><body class=x><div>{}</div></body></html>",
        "<html><head></head></html><body>{}</body></html>",  # two top-level elements
        "{}",
    ]
)


@st.composite
def page_pairs(draw: st.DrawFn) -> tuple[str, str]:
    """Two pages with many parts in common."""
    shared = draw(st.lists(PIECES, max_size=4))
    shell = draw(_SHELLS)

    def page() -> str:
        parts = [part for part in shared if draw(st.integers(0, 4))]
        for part in draw(st.lists(PIECES, max_size=2)):
            parts.insert(draw(st.integers(0, len(parts))), part)
        return shell.format("".join(parts))

    return page(), page()


def flat_pair(key: str, other: str) -> tuple[FlatPage, FlatPage]:
    vocabulary = Vocabulary()
    return (
        flatten(parse_html(key), KEY_URL, vocabulary),
        flatten(parse_html(other), f"{SITE}other.html", vocabulary),
    )


MENU = (
    '<nav class="menu"><ul><li><a href="/docs/start.html">Start</a></li>'
    '<li><a href="/docs/key.html">Guide</a></li><li><a href="/docs/other1.html">Reference</a></li>'
    '<li><a href="/news/">News</a></li><li><a href="/about.html">About us</a></li></ul></nav>'
)
FOOTER = '<div id="footer"><p>Made by <a href="/people.html">some people</a></p></div>'


def framed(content: str, *, menu: str = MENU, footer: str = FOOTER) -> str:
    return (
        f'<html><head><title>Site</title></head><body><div class="top"><b>The site</b></div>\n'
        f'{menu}\n<div class="content">{content}</div>\n{footer}</body></html>'
    )


def article(words: str) -> str:
    return framed(f"<h1>About {words}</h1><p>There is much to say about {words}.</p>")


ARTICLES = [article(words) for words in ("cranes", "herons", "storks")]


def extract(key: str, *others: str, url: str = KEY_URL, urls: Sequence[str] = ()) -> PageTemplate:
    urls = urls or [f"{SITE}other{i}.html" for i in range(1, len(others) + 1)]
    sources = [PageSource(*source) for source in zip(urls, others, strict=True)]
    template = extract_template(PageSource(url, key), sources)
    assert template is not None
    return template

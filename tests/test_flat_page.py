import pytest
from hypothesis import given

from tests.support.template_pages import KEY_URL, flat_pair, page_pairs
from tplspider.template.flat_page import FlatPage, Vocabulary, flatten
from tplspider.web.html import UNCOUNTED, Element, fold, parse_html


def read(html: str, url: str = KEY_URL) -> FlatPage:
    return flatten(parse_html(html), url, Vocabulary())


def links(html: str, url: str = KEY_URL) -> list[str]:
    return [link for link in read(html, url).links if link]


def counted(element: Element) -> list[Element]:
    """The elements directly in one, as the definition has it."""
    return [child for child in element if isinstance(child.tag, str) and child.tag not in UNCOUNTED]


def own_text(element: Element) -> str:
    """The text directly in an element, as the definition has it."""
    return fold(" ".join([element.text or "", *(child.tail or "" for child in element)]))


@given(page_pairs())
def test_the_lists_are_the_tree(pages: tuple[str, str]) -> None:
    page, _ = flat_pair(*pages)
    place = {element: number for number, element in enumerate(page.elements)}
    for number, element in enumerate(page.elements):
        assert page.tags[number] == element.tag
        assert page.texts[number] in ((own_text(element), "") if number else ("",))
        if page.ends[number] - number < 20 and number:  # what is large may have stray text
            assert page.texts[number] == own_text(element)
        assert page.children[number] == [place[child] for child in counted(element)]
        assert all(page.parents[child] == number for child in page.children[number])
        inside = [e for e in element.iter() if e in place]
        assert [place[e] for e in inside] == list(range(number, page.ends[number]))
    assert page.parents[0] == -1


@given(page_pairs())
def test_equal_numbers_are_equal_subtrees(pages: tuple[str, str]) -> None:
    key, other = flat_pair(*pages)

    def own(a: int, b: int) -> bool:
        ours = (key.tags[a], key.texts[a], key.links[a])
        return ours == (other.tags[b], other.texts[b], other.links[b])

    def equal(a: int, b: int) -> bool:
        ours, theirs = key.children[a], other.children[b]
        if not own(a, b) or len(ours) != len(theirs):
            return False
        return all(equal(x, y) for x, y in zip(ours, theirs, strict=True))

    for a in range(len(key.tags)):
        for b in range(len(other.tags)):
            assert (key.subtrees[a] == other.subtrees[b]) == equal(a, b)
            assert (key.own[a] == other.own[b]) == own(a, b)


@pytest.mark.parametrize(
    "html",
    [
        '<a href="x.html">x</a>',
        '<a href=" ./x.html ">x</a>',
        '<a href="/docs/x.html">x</a>',
        '<a href="../docs/x.html#part">x</a>',
        '<a href="http://example.org/docs/x.html">x</a>',
        '<a href="//EXAMPLE.org/docs/x.html">x</a>',
        '<head><base href="/docs/"></head><body><a href="x.html">x</a></body>',
        '<head><base href="/elsewhere/"></head><body><a href="../docs/x.html">x</a></body>',
        "<html><head></head></html><base href=/docs/deep/><body><a href=../x.html>x</a></body>",
    ],
)
def test_an_address_is_what_it_leads_to(html: str) -> None:
    assert links(html) == ["http://example.org/docs/x.html"]


@pytest.mark.parametrize("href", ["key.html", "/docs/key.html", "#", "", "./key.html#"])
def test_the_page_itself(href: str) -> None:
    page = read(f'<a href="{href}">x</a>')
    assert page.links[-1] == "self?#"
    assert page.targets[-1] == KEY_URL


@pytest.mark.parametrize(
    "href",
    [
        "https://social.example/share?u=http%3A%2F%2Fexample.org%2F{quoted}.html",
        "https://forge.example/edit/main/{path}.rst",
        "/es/{path}.html",
        "/login?return=/{path}.html",
    ],
)
def test_an_address_with_that_of_the_page_in_it_is_the_same_on_every_page(href: str) -> None:
    found = set()
    for path in ("docs/key", "docs/deep/other", "news/2026/third"):
        address = href.format(path=path, quoted=path.replace("/", "%2F"))
        found.add(tuple(links(f'<a href="{address}">x</a>', f"http://example.org/{path}.html")))
    assert len(found) == 1


def test_a_few_loose_words_in_the_layout_do_not_count() -> None:
    def page(date: str, cells: int) -> str:
        return f"<table><tr><td>{date}{'<p>Some entry of it</p>' * cells}</td></tr></table>"

    def texts(html: str) -> list[str]:
        page = flatten(parse_html(html), "http://example.org/", Vocabulary())
        return [text for text, tag in zip(page.texts, page.tags, strict=True) if tag == "td"]

    assert texts(page("Monday", 25)) == [""]
    assert texts(page("Monday", 3)) == ["Monday"]  # not large
    assert texts(page("Monday and so on " * 20, 25)) != [""]  # not few

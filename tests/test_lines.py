from collections.abc import Iterator
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.template_pages import page_pairs
from tplspider.template.flat_page import FlatPage, Vocabulary, flatten
from tplspider.template.lines import (
    BLOCKS,
    CELLS,
    Line,
    letters,
    lines_of_elements,
    page_lines,
    text_lines,
)
from tplspider.web.html import Element, fold, parse_html, visible_text

URL = "http://example.org/docs/key.html"
ENDS = BLOCKS | CELLS | {"button", "optgroup", "select", "textarea"}
HIDDEN = {"script", "style", "noscript", "template", "iframe", "object", "svg"}

Words = tuple[str, int, int]  # the element they are in, and the link

# Any soup of these is a page.
SOUP = st.lists(
    st.sampled_from(
        "<p> </p> <div> </div> <td> <li> </li> <b> </b> <span> </span> <br> <button> </button>"
        " <svg> </svg> <noscript> </noscript> <template> </template> <!--c--> <?pi?> "
        "<script>s</script> <object> </object> <area&href=b.html> <a&href=a.html> "
        "<a&href=key.html#x> <a&name=n> </a>"
        " word two&words | _ été 写作 &nbsp; \x1f".split(" ")
    ).map(lambda part: part.replace("&", " ").replace(" nbsp;", "&nbsp;"))
    | st.just(" "),
    max_size=30,
).map("".join)


def read(html: str) -> FlatPage:
    return flatten(parse_html(f"<html><body>{html}</body></html>"), URL, Vocabulary())


def walk(page: FlatPage, element: Element, link: int, *, hidden: bool) -> Iterator[Words | None]:
    """The words in an element, and None where a line ends."""
    number = page.elements.index(element) if element in page.elements else -1
    hidden = hidden or number < 0 or element.tag in HIDDEN
    if not hidden and element.tag in ENDS:
        yield None
    if not hidden and element.tag in {"a", "area"} and page.links[number]:
        link = number
    if not hidden and (text := fold(element.text or "")):
        yield text, number, link
    for child in element:
        yield from walk(page, child, link, hidden=hidden)
        if not hidden and (tail := fold(child.tail or "")):
            yield tail, number, link
    if element.tag in ENDS:
        yield None


def literal_lines(page: FlatPage) -> Iterator[Line]:
    words = walk(page, page.elements[0], -1, hidden=False)
    for is_end, run in groupby(words, key=lambda part: part is None):
        if is_end:
            continue
        parts = [part for part in run if part is not None]
        if any(link >= 0 for _, _, link in parts) and not any(
            letters(text) or "_" in text for text, _, link in parts if link < 0
        ):
            groups = [(link, list(group)) for link, group in groupby(parts, key=lambda p: p[2])]
            groups = [(link, group) for link, group in groups if link >= 0]
        else:
            groups = [(-1, parts)]
        for link, group in groups:
            text = " ".join(text for text, _, _ in group)
            if letters(text) or "_" in text:
                href, target = (page.links[link], page.targets[link]) if link >= 0 else ("", "")
                elements = tuple(dict.fromkeys(number for _, number, _ in group))
                yield Line(text, href, target, elements, letters(text))


@given(SOUP)
def test_lines_are_those_of_the_definition(html: str) -> None:
    page = read(html)
    lines = page_lines(page)
    assert [line._replace(linked=0.0) for line in lines] == list(literal_lines(page))
    assert all(line.linked == 1 for line in lines if line.link)


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<a href=x>Home</a> | <a href=y>News</a>", ["Home", "News"]),
        ("See <a href=x>Home</a>", ["See Home"]),
        ("one<svg><p>t</p></svg>two", ["one", "two"]),  # what is hidden ends a line, too
        ("one<svg><b>t</b></svg>two", ["one two"]),
        ("one<!-- c --> two", ["one two"]),
        ("<p>|</p><p>_</p>", ["_"]),
    ],
)
def test_what_is_a_line(html: str, lines: list[str]) -> None:
    assert [line.text for line in page_lines(read(html))] == lines


@pytest.mark.parametrize("without", ["b", "p", "script", "template"])
def test_what_is_left_out_of_a_part(without: str) -> None:
    page = read(f"<div>one <{without}>two</{without}> three</div><p>four</p><p>five</p>")
    four, five = len(page.tags) - 2, len(page.tags) - 1
    left_out = [page.tags.index(without)] if without in page.tags else []
    lines = lines_of_elements(page, [1, five], without=left_out)
    assert lines[-1] == "five"
    assert " ".join(lines[:-1]) == "one three"
    assert lines_of_elements(page, [], [four]) == ["four"]


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<p>one</p><p>two</p>", ["one", "two"]),
        ("<p>one <b>and</b> a\n half</p>tail", ["one and a half", "tail"]),
        ("a<br>b<hr>c", ["a", "b", "c"]),
        ("<ul><li>x<li>y<ul><li>z</ul>after</ul>", ["x", "y", "z", "after"]),
        ("<table><tr><td>1<td>2<tr><th>3<td>4</table>", ["1 2", "3 4"]),
        ("wo<b>r</b>d", ["word"]),
        (
            "<pre>def f():\n    return 1\n\n  # end</pre>after",
            ["def f():", "    return 1", "  # end", "after"],
        ),
        ("<pre>a <b>b\n  c</b> d</pre>", ["a b", "  c d"]),
        ("<script>s</script><p>p</p><style>t</style><noscript>n</noscript>", ["p"]),
        ("<template><p>t</p></template>", []),
        ("<pre><script>s</script>x</pre>", ["x"]),
        ("a<!-- c --> b<?pi?> c", ["a b c"]),
        ("<p> \n\xa0</p>", []),
        ("<select><option>1<option>2</select>", ["1", "2"]),
        ("<p>שלום עולם</p><p>日本語　の文</p>", ["שלום עולם", "日本語 の文"]),
        ("", []),
    ],
)
def test_blocks_are_lines(html: str, lines: list[str]) -> None:
    (body,) = parse_html(f"<html><body>{html}</body></html>").iter("body")
    assert text_lines(body) == lines


@given(page_pairs())
def test_no_visible_text_is_lost(pages: tuple[str, str]) -> None:
    root = parse_html(pages[0])
    elements = [root, *root.itersiblings("*")]
    lines = [line for element in elements for line in text_lines(element)]
    assert "".join("".join(lines).split()) == "".join(visible_text(root).split())
    assert all(line.strip() and "\n" not in line for line in lines)

"""The text of an element as lines."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.support.template_pages import page_pairs
from tplspider.template.lines import text_lines
from tplspider.web.html import parse_html, visible_text


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


@pytest.mark.parametrize(
    ("html", "lines"),
    [
        ("<p>one\n two</p>", ["one two"]),
        ("<pre>one\n two</pre>", ["one", " two"]),
        ("<script>s</script>", []),
        ("<img alt=x>", []),
    ],
)
def test_a_single_element(html: str, lines: list[str]) -> None:
    (body,) = parse_html(f"<html><body>{html} tail</body></html>").iter("body")
    assert text_lines(body[0]) == lines


@given(page_pairs())
def test_no_visible_text_is_lost(pages: tuple[str, str]) -> None:
    root = parse_html(pages[0])
    elements = [root, *root.itersiblings("*")]
    lines = [line for element in elements for line in text_lines(element)]
    assert "".join("".join(lines).split()) == "".join(visible_text(root).split())
    assert all(line.strip() and "\n" not in line for line in lines)

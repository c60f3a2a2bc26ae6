"""Parts of a page that cannot stand alone are given in what is around them."""

from __future__ import annotations

from tplspider import PageSource, extract_template
from tplspider.template.main_part import start_tag
from tplspider.template.markdown import to_markdown
from tplspider.web.html import parse_html

MENU = "<nav><a href=/>Home</a> <a href=/bees/>Bees</a></nav>"
FOOT = "<footer>All rights reserved by us.</footer>"


def own_html(*bodies: str) -> str:
    pages = [
        PageSource(f"http://a.org/{n}.html", f"<body>{MENU}<div class=body>{body}</div>{FOOT}")
        for n, body in enumerate(bodies)
    ]
    return extract_template(pages[0], pages[1:]).main_html


def table(n: int) -> str:
    rows = "".join(
        f"<tr><td>name{n}{row}</td><td>Meaning of {n} and {row}.</td></tr>" for row in range(3)
    )
    return (
        f"<h1>Page {n}</h1><table class=names><thead><tr><th>Name</th><th>Meaning</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def code(n: int) -> str:
    lines = "\n".join(f"x{n}{line} = f({7 * n + line})" for line in range(3))
    return (
        f"<h1>Page {n}</h1><div class='highlight-python notranslate'><div class=highlight>"
        "<table class=highlighttable><tr><td class=linenos><div class=linenodiv><pre>1\n2\n3</pre>"
        f"</div></td><td class=code><div><pre>{lines}\n</pre></div></td></tr></table></div></div>"
    )


def entries(n: int) -> str:
    own = "".join(f"<li class=own>Entry {n}{row} of the list</li>" for row in range(2))
    return f"<h1>Page {n}</h1><ul class=list><li class=first>The first of all lists</li>{own}</ul>"


def test_rows_are_in_their_table() -> None:
    html = own_html(*map(table, range(4)))
    assert '<table class="names"><tbody><tr><td>name00</td>' in html
    assert html.endswith("</tr></tbody></table>")
    assert "| name01 | Meaning of 0 and 1. |" in to_markdown(html, "http://a.org/")


def test_code_keeps_what_names_its_language() -> None:
    html = own_html(*map(code, range(4)))
    wanted = "```python\nx00 = f(0)\nx01 = f(1)\nx02 = f(2)\n```"
    assert wanted in to_markdown(html, "http://a.org/")
    assert "1\n2\n3" not in to_markdown(html, "http://a.org/")


def test_entries_share_their_list() -> None:
    html = own_html(*map(entries, range(4)))
    assert html.count("<ul") == html.count("</ul>") == 1
    assert html.count("<li") == html.count("</li>")
    assert "Entry 01 of the list" in html


def test_what_stands_alone_has_nothing_around_it() -> None:
    html = own_html(*(f"<h1>Page {n}</h1><p>Of {n} we say this.</p>" for n in range(4)))
    assert html == "<h1>Page 0</h1>\n<p>Of 0 we say this.</p>"


def test_attributes_are_written_as_they_were() -> None:
    html = own_html(
        *(
            f"<table title='a &quot; b &lt;'><tr><td>Own words of {n}</td></tr></table>"
            for n in "123"
        )
    )
    assert "Own words of 1" in html
    assert html.count("<table") == html.count("</table>")


def test_names_that_only_html_has() -> None:
    body = parse_html('<body><o:p @click="go()" title="a &amp; b">x</o:p>')[0]
    assert start_tag(body[0]) == '<o:p title="a &amp; b">'
    html = own_html(
        *(
            f"<h1>Page {n}</h1><ul @click=go><o:p><li>First of all</li><li>Own {n}</li></o:p></ul>"
            for n in range(4)
        )
    )
    assert "<ul><o:p>" in html
    assert "Own 0" in html

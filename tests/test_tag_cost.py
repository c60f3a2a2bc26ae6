"""Pages whose tags would keep the parser busy for minutes are told from those with much text."""

from __future__ import annotations

import time

import pytest

from tplspider.web.html import is_too_costly, parse_html

MANY = 30_000
NAMES = [b"a%d" % number for number in range(MANY)]


@pytest.mark.parametrize(
    "html",
    [
        b"<p " + b" ".join(NAMES) + b">x</p>",
        b"<p " + b"=1 ".join(NAMES) + b">",
        b"<p " + b'=">"'.join(NAMES) + b">",
        b"<p " + b"/".join(NAMES) + b">",
        b'<p x" ' + b"\n<".join(NAMES) + b">",
        b"<script></script><p " + b" a" * MANY + b"><!-- -->",
        (b"<p " + b" ".join(NAMES[:5000]) + b">") * 10,
    ],
)
def test_tags_that_are_too_dear(html: bytes) -> None:
    assert is_too_costly(html)


@pytest.mark.parametrize(
    "html",
    [
        b"<pre>" + b"word " * 9 * MANY + b"</pre>",
        b"<script>for (i = 0; i <n; i++) {}" + b"x = 1; " * MANY + b"</script>",
        b"<p title='" + b"word " * MANY + b"'>",
        b'<p class=x">' + b"word " * MANY + b"<b>",
        b"<a href=" + b"../" * MANY + b"x>Up</a>",
        b"<!-- <a " + b"word " * MANY + b"-->",
        b"<p a=1 b=2 c=3 d=4>x</p>" * MANY,
    ],
)
def test_pages_of_people(html: bytes) -> None:
    assert not is_too_costly(html)
    start = time.process_time()
    parse_html(html.decode())
    assert time.process_time() - start < 10

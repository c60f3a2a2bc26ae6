import pytest
import scrapy.http.response.text
from hypothesis import example, given
from hypothesis import strategies as st
from scrapy.http import Headers, HtmlResponse, TextResponse
from scrapy.responsetypes import responsetypes

from tests import literal
from tplspider.spiders.template_candidates import web_page
from tplspider.web.html import parse_html, visible_text
from tplspider.web.page import WebPage, page_fault

PIECES = st.sampled_from(
    [
        *("<p>text</p>", "<b>bo</b>ld", "<script>var a = '<p>';</script>", "<style>p {}</style>"),
        *("<noscript>plain <p>inner</p> tail</noscript>", "<template><p>inner</p></template>"),
        *("<noscript><style>text</style></noscript>", "<p>inner</p> tail", "<!-- comment -->"),
        *("<template><script>tail</script><!-- inner --></template>", "<title>a title</title>"),
        *("<script></script> after\xa0", "\n \t", "</html><body>", "<textarea> area </textarea>"),
        "&amp;&lt;",
    ]
)


@given(st.lists(PIECES, max_size=12))
def test_visible_text_is_that_of_the_definition(pieces: list[str]) -> None:
    html = f"<html><body>{''.join(pieces)}</body></html>"
    assert visible_text(parse_html(html)) == literal.visible_text(html)


TYPES = st.sampled_from(
    [
        *responsetypes.CLASSES,
        *("text/plain", "text/", "text", "", "application/pdf", "image/png", "TEXT/HTML ; x=y"),
        *("application/octet-stream", "nonsense", "text/html; charset=latin1", "text/html;charset"),
        *("text/html; charset=utf-16", "text/html; charset=nonsense", "text/html; charset=big5"),
    ]
)

DISPOSITIONS = st.sampled_from(
    ["inline", "attachment; filename=a.html", 'x; filename="a.txt"', "x; y", "x;=", "x; f=a.pdf; z"]
)

ENDINGS = st.sampled_from([*responsetypes.mimetypes.types_map[True], "", ".x", ".html.gz", ".HTM"])
STARTS = st.sampled_from(
    [
        *(b"", b"\0", b"\x01", b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"),
        *(b"<html>", b"<!doctype html>", b"<?xml version='1.0' encoding='iso-8859-2'?>"),
        *(b"<meta charset=utf-8>", b"<meta charset=gb2312>"),
        b'<meta http-equiv="Content-Type" content="text/html; charset=windows-1251">',
    ]
)

TEXTS = st.one_of(
    st.binary(max_size=60),
    st.text(max_size=60).map(lambda text: text.encode("utf-8", "replace")),
    st.sampled_from(["Übergrößenträger", "Привет, мир", "日本語のページ"]).flatmap(
        lambda text: st.sampled_from(["utf-8", "utf-16", "cp1251", "latin-1", "euc-jp"]).map(
            lambda encoding: text.encode(encoding, "replace")
        )
    ),
)


@given(
    st.none() | TYPES,
    st.none() | DISPOSITIONS,
    st.none() | st.sampled_from(["gzip", ""]),
    st.builds("http://example.org/{}{}{}".format, st.sampled_from(["", "a", "a/b"]), ENDINGS,
              st.sampled_from(["", "?q=a.css", "?x=1&y=.html"])),
    st.builds(bytes.__add__, STARTS, TEXTS),
)  # fmt: skip
@example(None, None, None, "http://example.org/", b"x" * 5000 + b"<html>")
def test_kind_encoding_and_text(
    kind: str | None, disposition: str | None, packing: str | None, url: str, body: bytes
) -> None:
    given_headers = {
        "Content-Type": kind,
        "Content-Disposition": disposition,
        "Content-Encoding": packing,
    }
    headers = {name: value for name, value in given_headers.items() if value is not None}
    theirs = responsetypes.from_args(headers=Headers(headers), url=url, body=body)
    ours = WebPage(url, body, headers={name.lower(): value for name, value in headers.items()})
    assert ours.is_html == issubclass(theirs, HtmlResponse)
    response = HtmlResponse(url, headers=headers, body=body)
    if response.encoding in WESTERN and is_utf8(body):
        response = response.replace(encoding="utf-8")  # our one departure
    if GUESSES_ENCODINGS:
        assert ours.encoding == response.encoding
        assert ours.text == response.text


# What nothing declares is guessed since Scrapy 2.19, as we guess it.
GUESSES_ENCODINGS = hasattr(scrapy.http.response.text, "from_bytes")
WESTERN = ("cp1252", "iso8859-15", "iso8859-1", "ascii")


def is_utf8(body: bytes) -> bool:
    try:
        return body.decode("utf-8") != body.decode("ascii", "replace")
    except UnicodeDecodeError:
        return False


@pytest.mark.parametrize(
    ("declared", "body", "text"),
    [
        ("iso-8859-1", "Übergröße", "Übergröße"),
        ("windows-1252", "日本", "日本"),
        ("us-ascii", "é", "é"),
        ("iso-8859-15", "10 €", "10 €"),
        ("iso-8859-1", b"\xdcber", "Über"),  # what it says
        ("iso-8859-1", b"\xc3\xa4 \xe4", "Ã¤ ä"),
        ("iso-8859-2", "Ü".encode(), "Ă\x9c"),  # not a Western one
        ("iso-8859-1", b"plain", "plain"),
    ],
)
@pytest.mark.parametrize("place", ["header", "page"])
def test_utf_8_that_is_declared_as_something_western(
    declared: str, body: str | bytes, text: str, place: str
) -> None:
    in_header = place == "header"
    data = body.encode() if isinstance(body, str) else body
    headers = {"content-type": f"text/html; charset={declared}"} if in_header else {}
    start = b"" if in_header else f"<meta charset={declared}>".encode()
    page = WebPage("http://x/", start + data, headers=headers)
    assert page.text.removeprefix(start.decode()) == text


def test_endings_are_those_of_scrapy() -> None:
    for ending in responsetypes.mimetypes.types_map[True]:
        theirs = responsetypes.from_filename(f"http://example.org/a{ending}")
        html = issubclass(theirs, HtmlResponse)
        assert WebPage(f"http://example.org/a{ending}", b"no HTML").is_html == html
        # One that tells nothing leaves it to the first bytes.
        known = issubclass(theirs, TextResponse)
        assert WebPage(f"http://example.org/a{ending}", b"<html>").is_html == (html or not known)


@pytest.mark.parametrize("encoding", ["punycode", "unicode_escape", "zlib", "utf-7", "nonsense"])
@pytest.mark.parametrize("in_header", [True, False])
def test_what_browsers_do_not_know_is_no_declaration(encoding: str, *, in_header: bool) -> None:
    headers = {"content-type": "text/html" + (f"; charset={encoding}" if in_header else "")}
    start = b"" if in_header else f"<meta charset={encoding}>".encode()
    body = start + "Übergrößenträger-9".encode()
    page = WebPage("http://x/", body, headers=headers)
    assert (page.encoding, page.text) == ("utf-8", body.decode())
    assert web_page(HtmlResponse("http://x/", headers=headers, body=body)).text == page.text
    assert page_fault(page) == ""

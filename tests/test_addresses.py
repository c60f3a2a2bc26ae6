from __future__ import annotations

import tracemalloc
from urllib.parse import urljoin

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url, safe_url_string

from tests.literal import clean, without_user
from tplspider.web import addresses
from tplspider.web.addresses import LONGEST_BASE, Resolver, clean_href, identity

# Pieces that addresses are made of, plain ones and all that the fast path must not misjudge.
HOSTS = st.sampled_from(
    [
        "example.org",
        "www.example.org",
        "EXAMPLE.org",
        "example.org:80",
        "example.org:080",
        "example.org:59999",
        "example.org:65535",
        "a-b.example.org",
        "-a.example.org",
        "example.org.",
        "bücher.example",
        "xn--bcher-kva.example",
        "127.0.0.1:8000",
        "user@example.org",
        "[::1]:8080",
        "a..b",
        "e_x.org",
    ]
)
SEGMENTS = st.sampled_from(
    [
        "a",
        "b.html",
        "~me",
        "%7Eme",
        "",
        ".",
        "..",
        ".hidden",
        "a b",
        "ü",
        "%2F",
        "%e4",
        "x;y",
        "-",
        "c,d",
        "e=(f):g!",
        "%3Fp=1",
        "%C3%BC%20%FF",
        "%2F..%2F",
        "%25%2E%3D",
        "@+*",
    ]
)
QUERIES = st.sampled_from(
    [
        *("?c&b&a", "?b&a=1&a", "?a=&a&a=0", "?a&&b", "?&a", "?a&", "?=", "?a=b=c&a", "?_&.&-&A"),
        *("?b.c&b-c&b&b_c=1", "?a;b&c", "?a/b&c", "?%61&a", "?a+&a"),
        "",
        "?",
        "?a=1",
        "?b=2&a=1",
        "?a",
        "?a=&b",
        "?a.b=1&a=2",
        "?q=%20x",
        "?q=a+b",
        "?q=ü",
        "?x=/a/../b",
    ]
)
# Accents that normalisation would sort, in a time that grows with the square of their number.
MILLION = "\u0301\u0323" * 500_000
FRAGMENTS = st.sampled_from(["", "#", "#top", "#a/b?c"])


@st.composite
def hrefs(draw: st.DrawFn) -> str:
    path = "/".join(draw(st.lists(SEGMENTS, max_size=5)))
    start = draw(
        st.sampled_from(
            ["", "/", "//", "../", "../../", "http://", "https://", "HTTP://", "HTTPS://"]
        )
    )
    if start.endswith("//"):
        start += draw(HOSTS) + draw(st.sampled_from(["/", ""]))
    return start + path + draw(QUERIES) + draw(FRAGMENTS)


@st.composite
def urls(draw: st.DrawFn) -> str:
    path = "/".join(draw(st.lists(SEGMENTS, max_size=5)))
    return f"http://{draw(HOSTS)}/{path}{draw(QUERIES)}{draw(FRAGMENTS)}"


@given(urls())
@example("http://example.org/a?b.c=1&b=2")
@example("http://example.org")
@example("http://example.org/a//b")
@example(f"http://example.org/{'a' * 5000}^")  # it is seen at once that this is not canonical
def test_identity_is_the_canonical_form(url: str) -> None:
    assert identity(url) == canonicalize_url(without_user(url))


@given(base=urls(), href=hrefs())
@example(base="http://example.org/a/b/c.html", href="../../../x")
@example(base="http://example.org/a/b/c.html", href="..")
@example(base="http://example.org/a/b/c.html?x=/y/z", href="d?b=2&a=1")
@example(base="http://example.org/a/b/c.html?x=/y/z", href="?b&a")
@example(base="http://example.org/", href="../../x?b&a")
def test_addresses_are_resolved_as_urljoin_does(base: str, href: str) -> None:
    try:
        expected = safe_url_string(without_user(urljoin(base, clean(href))).partition("#")[0])
        canonical = canonicalize_url(expected)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            Resolver(base).resolve(href)
        return
    assert Resolver(base).resolve(href) == (expected, canonical)


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("  page.html\n", "http://example.org/dir/page.html"),
        ("pa\nge\t.html", "http://example.org/dir/page.html"),
        ("\\other\\page.html?a=\\b", "http://example.org/other/page.html?a=%5Cb"),
        ("page.html#part", "http://example.org/dir/page.html"),
        ("a b.html", "http://example.org/dir/a%20b.html"),
        ("//other.example/x", "http://other.example/x"),
    ],
)
def test_addresses_are_read_as_browsers_do(href: str, expected: str) -> None:
    resolved = Resolver("http://example.org/dir/index.html").resolve(href)
    assert resolved is not None
    assert resolved[0] == expected


@pytest.mark.parametrize("href", ["mailto:a@example.org", "javascript:void(0)", "tel:1", "data:,x"])
def test_addresses_of_other_kinds_are_none(href: str) -> None:
    assert Resolver("http://example.org/").resolve(href) is None


@pytest.mark.parametrize(
    "href",
    [
        "http://[::1/",
        "http://example.org:port/",
        "http://a:99999/",
        f"http://{'a' * 254}/",
        f"//{'a.' * 127}/",
        f"http:\\\\{'ü' * 254}\\x",
        pytest.param(f"http://{MILLION}/", id="a million"),
        "http://user:password@/",
        "//user@",
    ],
)
def test_addresses_that_cannot_be_parsed_are_errors(href: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        Resolver("http://example.org/").resolve(href)


@pytest.mark.parametrize(
    "href",
    [
        "http://user:password@example.org/x",
        "//us%65r@example.org/x",
        "http://a@b:c@example.org/x",
        "/\\user:password@example.org/x",
        pytest.param(f"http://{MILLION}:@example.org/x", id="a million"),
    ],
)
def test_user_and_password_are_taken_off(href: str) -> None:
    resolver = Resolver("http://other:secret@example.com/")
    assert resolver.resolve(href) == ("http://example.org/x",) * 2
    assert resolver.join(href) == "http://example.org/x"
    assert resolver.join("y") == "http://example.com/y"
    assert resolver.moved_to(href).resolve("y") == ("http://example.org/y",) * 2


def test_a_base_with_a_host_that_cannot_be_one_is_none() -> None:
    resolver = Resolver("http://example.org/")
    for scheme in ("", "http:", "ftp:", "x" * 1000 + ":"):
        base = f"{scheme}//{MILLION}/dir/"
        resolved = resolver.moved_to(base).resolve("x")
        assert resolved in (("http://example.org/x",) * 2, None)


def test_an_address_that_is_too_long_is_its_own_identity() -> None:
    resolver = Resolver("http://example.org/dir/", longest=100)
    path = "ü b/" * 50
    for href, expected in (
        (path, f"http://example.org/dir/{path}"),
        (f"HTTP://u:p@EXAMPLE.org/{path}?b=1&a=2#x", f"http://example.org/{path}?b=1&a=2"),
        (f"http://example.org:80?{path}", f"http://example.org:80/?{path}"),
        (f"/x?b=1&a={'2' * 100}", f"http://example.org/x?b=1&a={'2' * 100}"),
    ):
        assert resolver.resolve(href) == (expected, expected)
    # As long as it fits, what may be requested plays no part.
    fits = f"?b=1&a={'2' * (100 - len('http://example.org/dir/?b=1&a='))}"
    assert resolver.resolve(fits) == Resolver("http://example.org/dir/").resolve(fits)
    assert resolver.resolve(fits + "2") != Resolver("http://example.org/dir/").resolve(fits + "2")


@pytest.mark.parametrize(
    ("encoding", "query"),
    [("utf-8", "%E4%B8%AD"), ("gbk", "%D6%D0"), ("utf-16", "%E4%B8%AD"), ("nonsense", "%E4%B8%AD")],
)
def test_a_query_goes_out_in_the_encoding_of_its_page(encoding: str, query: str) -> None:
    resolved = Resolver("http://example.org/", encoding).resolve("/中?q=中")
    assert resolved is not None
    assert resolved[0] == f"http://example.org/%E4%B8%AD?q={query}"


def test_a_query_that_its_page_cannot_encode_goes_out_in_utf8() -> None:
    resolved = Resolver("http://example.org/", "iso-8859-1").resolve("?q=€")
    assert resolved is not None
    assert resolved[0] == "http://example.org/?q=%E2%82%AC"


@given(st.text(alphabet="/.ab?:#%2 ü\\&=", max_size=12))
def test_joined_addresses_are_those_of_urljoin(path: str) -> None:
    href = f"/{path}".partition("#")[0].strip()
    joined = Resolver("http://example.org/docs/a.html").join(href)
    try:
        addresses.without_user(clean_href(href))
    except ValueError:  # an address that leads nowhere stays as it is written
        assert joined == href
        return
    expected = urljoin("http://example.org/docs/a.html", clean_href(href))
    if clean_href(href).startswith("//"):  # of another host, which may get a slash
        assert joined.removesuffix("/") == expected.removesuffix("/")
    else:
        assert joined.rstrip("?") == expected.rstrip("?")


def test_queries_without_values_are_read_at_a_glance(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be a quarter of a million on a page: the slow ways are not taken."""
    monkeypatch.delattr(addresses, "canonicalize_url")
    monkeypatch.delattr(addresses, "urljoin")
    resolver = Resolver("http://example.org/dir/index.html?x")
    for href, start in (("?c&b=1&a", "index.html"), ("x?c&b=1&a", "x"), ("../?c&b=1&a", "../")):
        path = {"../": "/"}.get(start, f"/dir/{start}")
        expected = f"http://example.org{path}?c&b=1&a", f"http://example.org{path}?a=&b=1&c="
        assert resolver.resolve(href) == expected


@pytest.mark.parametrize("ups", [0, 1, 2, 3, 4, 9, 50_000])
def test_a_long_way_up(ups: int) -> None:
    base = "http://example.org/" + "x/" * 3
    resolved = Resolver(base).resolve("../" * ups + "y")
    assert resolved is not None
    assert resolved[0] == "http://example.org/" + "x/" * max(0, 3 - ups) + "y"


def test_a_long_base_takes_no_more_room_than_itself() -> None:
    size = 100_000
    tracemalloc.start()
    try:
        resolver = Resolver("http://example.org/" + "x/" * (size // 2))
        assert resolver.resolve("../" * 10 + "y")
        assert tracemalloc.get_traced_memory()[1] < 30 * size
    finally:
        tracemalloc.stop()


def test_no_base_is_longer_than_an_address_can_be() -> None:
    """All links of a page would be as long, and there may be many."""
    page = Resolver("http://example.org/dir/")
    longest = "http://example.org/" + "x" * (LONGEST_BASE - 19)
    assert page.moved_to(longest).base == longest
    assert page.moved_to(longest + "x") is page


def test_the_query_of_a_base_may_be_long() -> None:
    resolver = Resolver("http://example.org/x/y.html").moved_to(f"/app/?s={'x' * 2 * LONGEST_BASE}")
    assert resolver.resolve("p.html") == ("http://example.org/app/p.html",) * 2

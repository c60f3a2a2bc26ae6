from urllib.parse import urljoin

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from w3lib.url import canonicalize_url, safe_url_string

from tests.literal import clean, without_user
from tplspider.web import addresses
from tplspider.web.addresses import LONGEST_BASE, Resolver, Site, clean_href, identity

# Pieces that addresses are made of, plain ones and all that the fast path must not misjudge.
HOSTS = st.sampled_from(
    "example.org www.example.org EXAMPLE.org example.org:80 example.org:080 example.org:59999"
    " a-b.example.org -a.example.org example.org. bücher.example xn--bcher-kva.example"
    " 127.0.0.1:8000 user@example.org [::1]:8080 a..b e_x.org".split()
)

SEGMENTS = st.just("a b") | st.sampled_from(
    "a b.html ~me %7Eme . .. .hidden ü %2F %e4 x;y - c,d e=(f):g! %3Fp=1 %C3%BC%20%FF %2F..%2F"
    " %25%2E%3D @+* ".split(" ")
)

QUERIES = st.sampled_from(
    " ? ?c&b&a ?b&a=1&a ?a=&a&a=0 ?a&&b ?&a ?a& ?= ?a=b=c&a ?_&.&-&A ?b.c&b-c&b&b_c=1 ?a;b&c"
    " ?a/b&c ?%61&a ?a+&a ?a=1 ?b=2&a=1 ?a=&b ?q=%20x ?q=a+b ?q=ü ?x=/a/../b".split(" ")
)

# Accents that normalisation would sort, in a time that grows with the square of their number.
MILLION = "\u0301\u0323" * 500_000
FRAGMENTS = st.sampled_from(["", "#", "#top", "#a/b?c"])


@st.composite
def hrefs(draw: st.DrawFn) -> str:
    path = "/".join(draw(st.lists(SEGMENTS, max_size=5)))
    start = draw(st.sampled_from(["", *"/ // ../ ../../ http:// https:// HTTP://".split()]))
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


@pytest.mark.parametrize(
    ("encoding", "query"),
    [("utf-8", "%E4%B8%AD"), ("gbk", "%D6%D0"), ("utf-16", "%E4%B8%AD"), ("nonsense", "%E4%B8%AD")],
)
def test_a_query_goes_out_in_the_encoding_of_its_page(encoding: str, query: str) -> None:
    resolved = Resolver("http://example.org/", encoding).resolve("/中?q=中")
    assert resolved is not None
    assert resolved[0] == f"http://example.org/%E4%B8%AD?q={query}"


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


def test_no_base_is_longer_than_an_address_can_be() -> None:
    """All links of a page would be as long, and there may be many."""
    page = Resolver("http://example.org/dir/")
    longest = "http://example.org/" + "x" * (LONGEST_BASE - 19)
    assert page.moved_to(longest).base == longest
    assert page.moved_to(longest + "x") is page


KEY = "http://www.example.co.uk/x"


@pytest.mark.parametrize(
    ("url", "host", "domain"),
    [
        ("http://www.example.co.uk/", True, True),
        ("http://example.co.uk/y", True, True),
        ("https://example.co.uk/y", True, True),
        ("https://example.co.uk:443/y", True, True),
        ("http://example.co.uk:80/y", True, True),
        ("http://example.co.uk:443/y", False, True),
        ("http://example.co.uk:8080/y", False, True),
        ("http://blog.example.co.uk/", False, True),
        ("http://other.co.uk/", False, False),
        ("http://EXAMPLE.CO.UK/", True, True),
        ("http://example.com/", False, False),
        ("http://127.0.0.1/", False, False),
    ],
)
def test_scopes(url: str, *, host: bool, domain: bool) -> None:
    assert (identity(url) in Site(identity(KEY), "host")) == host
    assert (identity(url) in Site(identity(KEY), "domain")) == domain


@pytest.mark.parametrize("key", ["http://127.0.0.1:8000/", "http://localhost:8000/"])
def test_a_host_without_a_registered_domain_is_its_own_site(key: str) -> None:
    site = Site(identity(key), "domain")
    assert identity(key + "x") in site
    assert identity(key.replace("8000", "8001")) not in site


def test_many_hosts_that_are_not_of_the_site_are_told_at_once() -> None:
    site = Site(identity("http://bücher.example/"))
    assert site.may_hold("www.BÜCHER.example")
    assert not site.may_hold("büchse.example")
    assert Site(identity("http://bücher.example/"), "domain").may_hold("ä.bücher.example")
    assert Site("http://xn--a/").may_hold("ü")  # not a name that can be spelt otherwise

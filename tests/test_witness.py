import pytest

from tplspider import Page, Site, get_links, parse_html, read_page
from tplspider.search.kinds import Pattern, Siblings, is_kin
from tplspider.search.witness import LEAST, by_likeness, likeness, needs_witness

HOST = "http://example.org/"


def at(path: str, *links: str) -> Page:
    return Page(HOST + path, HOST + path, frozenset(HOST + link for link in links))


def test_pages_with_the_same_links_and_directories_come_first() -> None:
    key = at("news/2019/a.html", "", "news/", "news/2019/b.html")
    near = at("news/2019/b.html", "", "news/", "news/2019/a.html")
    menu = at("news/", "", "about.html")
    far = at("forum/x/y.html", "forum/")
    assert by_likeness(key, [far, menu, near]) == [near, menu, far]
    assert likeness(key, near) > 1 > likeness(key, menu) > likeness(key, far) == 0


@pytest.mark.parametrize(
    ("key", "other", "kin"),
    [
        ("2019/05/07/on-cranes/", "2020/11/30/on-herons/", True),
        ("2019/05/07/on-cranes/", "2019/05/", False),
        ("v15i10f.htm", "v9i2f.htm", True),
        ("v15i10f.htm", "links.htm", False),
        ("docs/guide.html", "docs/index.html", False),
        ("docs/guide.html", "docs/manual.html", True),
        ("docs/guide.html", "guide.html", False),
        ("show?id=1", "show?id=2", True),
        ("show?id=1", "show?tag=2", False),
        ("a-long-name-of-an-article.html", "about.html", False),
    ],
)
def test_kinds_by_address(key: str, other: str, kin: bool) -> None:  # noqa: FBT001
    assert is_kin(Pattern(HOST + key), Pattern(HOST + other)) is kin


def chosen(
    key: str, *hrefs: str, spent: tuple[str, ...] = (), further: tuple[str, ...] = ()
) -> str | None:
    html = "".join(f'<p><a href="/{href}">{href}</a></p>' for href in hrefs)
    siblings = Siblings(HOST + key, get_links(parse_html(html), HOST + key, Site(HOST)))
    siblings.read(at("explored.html", *further))
    link = siblings.best(LEAST, lambda each: each.url.removeprefix(HOST) not in spent)
    return link.url.removeprefix(HOST) if link else None


def test_the_most_likely_sibling_is_chosen() -> None:
    hrefs = ("", "about/", "tag/birds/", "2020/11/30/on-herons/", "2019/05/")
    assert chosen("2019/05/07/on-cranes/", *hrefs) == "2020/11/30/on-herons/"
    assert chosen("2019/05/07/on-cranes/", *hrefs, spent=(hrefs[3],)) != hrefs[3]
    assert chosen("part-3.html", "about.html", "part-4.html", "x/part-5.html") == "part-4.html"
    assert chosen("a/b/c.html", "?page=2") is None
    assert chosen("a/b/c.html") is None


def test_another_form_of_the_page_is_not_chosen() -> None:
    forms = ("2019/on-cranes/?print=1", "2019/on-cranes/feed/", "2019/feed/", "2019/on-cranes/?x")
    assert chosen("2019/on-cranes/", *forms) is None
    assert chosen("2019/on-cranes/", *forms, "2018/a-heron/") == "2018/a-heron/"
    assert chosen("show?id=1", "show?id=2", "show?id=1&print=1") == "show?id=2"


def test_explored_pages_lead_to_siblings() -> None:
    further = ("", "birds/", "birds/heron.html", "birds/zzz.html", "fish/carp.html")
    assert chosen("birds/crane.html", "birds/", further=further) == "birds/heron.html"
    spent = ("birds/heron.html", "birds/zzz.html")
    assert chosen("birds/crane.html", further=further, spent=spent) is None
    # Of equals, what the page itself leads to comes first; the best link may be on any page.
    assert chosen("birds/crane.html", "birds/owl.html", further=further) == "birds/owl.html"
    assert chosen("part-1.html", "about.html", further=("part-2.html",)) == "part-2.html"


def test_a_witness_is_needed_where_no_page_is_of_the_kind() -> None:
    def kind(path: str, *classes: str) -> Page:
        html = "".join(f'<div class="{name}">x</div>' for name in classes)
        url = HOST + path
        return read_page(parse_html(html), url, Site(url), for_template=True)

    article = [f"c{i}" for i in range(10)]
    key = kind("on-cranes.html", *article)
    assert needs_witness(key, [])
    assert not needs_witness(key, [kind("on-herons.html", *article)])
    # An address alike with other names; the names with another address.
    assert needs_witness(key, [kind("our-birds.html", "c1", "c2")])
    assert needs_witness(key, [kind("tag/birds/", *article)])
    plain = kind("guide.htm", "c1")
    assert not needs_witness(plain, [kind("manual.htm")])

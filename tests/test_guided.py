from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import guided_literal
from tests.support.crawls import RunCrawl, Serve
from tests.support.kinds import examples
from tests.support.plain_site import PlainSite, outcome, run, sites
from tplspider import Site, get_links, identity, parse_html
from tplspider.search.guided import MenuSigns, menu_signs
from tplspider.search.sort_links import sort_links

URL = "http://example.org/docs/this.html"


def signs(html: str) -> dict[str, MenuSigns]:
    links = get_links(parse_html(html), URL, Site(identity(URL)))
    of_links = zip(links, menu_signs(links, URL), strict=True)
    return {link.url.rpartition("/")[2]: found for link, found in of_links}


def test_a_menu_is_a_block_of_links() -> None:
    found = signs(
        """<body><div><ul><li><a href=a.html>One</a><li><a href=b.html>Two</a>
        <li><a href=this.html>This</a></ul></div>
        <p>A long paragraph about something that <a href=c.html>links</a> to a page, and then
        goes on about other things for a while.</p></body>"""
    )
    assert (found["a.html"].entries, found["a.html"].own_entry) == (2, True)
    assert (found["c.html"].entries, found["c.html"].own_entry) == (1, False)
    assert found["c.html"].text_place
    assert not found["a.html"].text_place


@examples(200)
@given(
    sites(), st.integers(1, 5), st.sampled_from([0, 3, 6]), st.integers(1, 6), st.integers(0, 99)
)
def test_the_answer_depends_on_the_number_in_flight_alone(
    site: PlainSite, n: int, max_loads: int, in_flight: int, seed: int
) -> None:
    options: dict[str, Any] = {"size": n, "max_loads": max_loads, "in_flight": in_flight}
    one, _ = run(site, "/", strategy="guided", seed=seed, **options)
    two, _ = run(site, "/", strategy="guided", seed=seed + 1, **options)
    assert outcome(one) == outcome(two)
    assert 0 <= one.wasted < in_flight
    if max_loads:
        assert one.loads + one.wasted <= max_loads


@examples(200)
@given(sites(), st.integers(1, 5))
def test_it_takes_up_every_link_and_is_complete_where_the_paper_is(site: PlainSite, n: int) -> None:
    site.texts = {}  # of pages with the same text, the first one counts, with its links
    paper, _ = run(site, "/", size=n, max_loads=0)
    guided, _ = run(site, "/", strategy="guided", size=n, max_loads=0)
    assert guided.complete == paper.complete
    if not guided.complete:
        assert sorted(visit.link.url for visit in guided.visits) == sorted(
            visit.link.url for visit in paper.visits
        )


def test_links_that_the_loaded_pages_have_come_first() -> None:
    menu = ["/m/a", "/m/b", "/m/c", "/m/d"]
    links = {path: [other for other in menu if other != path] for path in menu}
    far = [f"/x{i}/y" for i in range(30)]
    site = PlainSite({**links, "/": [*far[:15], "/m/a", *far[15:], "/m/b", "/m/c", "/m/d"]})
    for path in far:
        site.links[path] = ["/m/a"]
    guided, asked = run(site, "/", strategy="guided", size=3)
    paper, _ = run(site, "/", size=3)
    assert guided.complete
    first_of_menu = next(i for i, url in enumerate(asked) if "/m/" in url)
    assert all("/m/" in url for url in asked[first_of_menu + 1 :])
    assert guided.loads < paper.loads


# Places of all kinds, and addresses that are one target, one identity, both or neither.
PLACES = st.sampled_from(
    [
        *("div", "ul", "li", "p", "nav", "main", "footer", "noscript", "td class=menu"),
        *("div class=content id=toc", "li class=next", "span role=navigation", "b rel=prev"),
        *("a href=/a%2Fb", "a name=x"),
    ]
)
ADDRESSES = st.sampled_from(
    [
        *"a.html ./a.html /docs/a.html HTTP://EXAMPLE.org/docs/a.html b.html?x=1&y=2".split(),
        *"b.html?y=2&x=1 /b.html? /b.html /a/b /a%2Fb /a%2fb /a%20b /%61/b /docs/ /docs".split(),
        *"? #here this.html /docs/this.html?x#y mailto:x http://[ http://me@example.org/a/b".split(),
        *(" a.html#x", "/c d", "", "http://other.example/"),
        f"/{'long/' * 60}?b=1&a=2",
        f"/./{'long/' * 60}?b=1&a=2",
    ]
)
WORDS = st.sampled_from(["", " ", "x", "Some words ", " and some\n more of them. " * 3])


def _place(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def write(tag: str, words: str, parts: list[str]) -> str:
        return f"<{tag}>{words}{''.join(parts)}</{tag.partition(' ')[0]}>{words}"

    return st.builds(write, PLACES, WORDS, st.lists(inner, max_size=6))


MARKS = st.sampled_from(["", "", "", "class=entry", "rel=next", "id=nav1 role=tab"])
ANCHORS = st.builds("<a {} href='{}'>{}</a>{}".format, MARKS, ADDRESSES, WORDS, WORDS)
LEAVES = st.one_of(ANCHORS, st.just("<!-- c --> word <script>x</script> more"), WORDS)

PAGES = st.builds(
    "{}<body {}>{}{}".format,
    st.sampled_from(["", "", "", "<base href=/docs/deep/>", "<base href=''><base href=/x/>"]),
    st.sampled_from(["", "", "class=older"]),
    st.lists(st.recursive(LEAVES, _place, max_leaves=30), max_size=6).map("".join),
    st.lists(ADDRESSES, max_size=4).map(lambda more: "".join(f"<area href='{x}'>" for x in more)),
)


@pytest.mark.slow
@examples(300)
@given(
    PAGES,
    st.sampled_from([URL, "http://example.org/d%20x/", "http://example.org/b.html?x=1"]),
)
def test_the_signs_are_those_of_the_definition(html: str, url: str) -> None:
    links = get_links(parse_html(html), url, Site(identity(url)))
    assert menu_signs(links, url) == guided_literal.menu_signs(links, url)
    in_order = sort_links(links, identity(url))
    assert menu_signs(in_order, url) == guided_literal.menu_signs(in_order, url)


@examples(200)
@given(sites(), st.integers(1, 6), st.integers(1, 6), st.integers(0, 99))
def test_the_order_is_that_of_the_definition(
    site: PlainSite, n: int, in_flight: int, seed: int
) -> None:
    options: dict[str, Any] = {"size": n, "max_loads": 0, "in_flight": in_flight, "seed": seed}
    expected, _ = run(site, "/", strategy=guided_literal.order, **options)
    found, _ = run(site, "/", strategy="guided", **options)
    assert outcome(found) == outcome(expected)


@pytest.mark.slow
@examples(60)
@given(
    st.randoms(use_true_random=False),
    st.sampled_from([20, 100, 300]),
    st.lists(st.sampled_from([0, 2, 0.02, 0.3, 0.9, 1.0]), min_size=1, max_size=4),
    st.integers(1, 5),
)
def test_the_order_of_many_links_is_that_of_the_definition(
    random: Random, count: int, shares: list[float], in_flight: int
) -> None:
    """Pages with few of the links, with many, and with all; many links have the same score."""
    names = [f"/{'d/' * random.choice([0, 0, 1, 2])}{i}" for i in range(count)]
    names = [name + random.choice(["", "", "?q=1"]) for name in names]
    site = PlainSite({"/": names})
    for name in names:
        share = random.choice(shares)
        site.links[name] = random.sample(names, int(share if share > 1 else share * count))
        site.texts[name] = f"page {name} "
    options: dict[str, Any] = {"size": 4, "max_loads": 60, "in_flight": in_flight}
    expected, _ = run(site, "/", strategy=guided_literal.order, **options)
    found, _ = run(site, "/", strategy="guided", **options)
    assert outcome(found) == outcome(expected)


def test_a_crawl_needs_fewer_loads(crawl: RunCrawl, serve: Serve) -> None:
    server = serve("menu")
    loads = {}
    for strategy in ("paper", "guided"):
        done = crawl(f"{server.url}/docs/guide/four.html", strategy=strategy)
        assert done.code == 0
        assert done.summary["complete"]
        loads[strategy] = done.summary["loads"]
    assert 4 <= loads["guided"] < loads["paper"]

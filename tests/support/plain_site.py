"""A website in memory, and a search over it whose answers come back in any order."""

from dataclasses import dataclass, field
from random import Random
from typing import Any

from hypothesis import strategies as st

from tests import literal
from tplspider import (
    Page,
    Site,
    SubdigraphSearch,
    Visit,
    get_links,
    identity,
    parse_html,
    read_page,
)
from tplspider.search.answer import summary
from tplspider.search.kinds import KindSearch
from tplspider.search.session import STRATEGIES, Strategy
from tplspider.web.page import NoPage, redirect_to

ROOT = "http://example.org"


@dataclass
class PlainSite:
    """A website in memory: what each path links to, its text, where it redirects, why it fails."""

    links: dict[str, list[str]]
    texts: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    max_redirects: int = 20  # in a row

    def load(self, url: str) -> literal.LiteralPage | str:
        path = url.removeprefix(ROOT)
        for _ in range(self.max_redirects + 1):
            if path in self.failures:
                return self.failures[path]
            if path not in self.redirects:
                break
            path = self.redirects[path]
        else:
            return "bad-response"
        if path.startswith("http"):
            return literal.LiteralPage(path, "<p>elsewhere</p>")
        anchors = "".join(f"<li><a href='{link}'></a></li>" for link in self.links.get(path, []))
        text = self.texts.get(path, f"page {path}")
        return literal.LiteralPage(ROOT + path, f"<p>{text}</p><ul>{anchors}</ul>")


def run(
    site: PlainSite,
    key: str,
    *,
    strategy: str | Strategy = "paper",
    in_flight: int = 1,
    seed: int = 0,
    **options: Any,
) -> Any:
    """Search a site in memory; answers come back in an order that the seed decides.

    No page is loaded twice, whatever ways lead to it.
    """
    random = Random(seed)
    loaded = site.load(ROOT + key)
    assert isinstance(loaded, literal.LiteralPage)
    root = parse_html(loaded.html)
    host = Site(identity(loaded.url))

    def answer(url: str) -> Page | NoPage:
        page = site.load(url)
        if isinstance(page, str):
            return NoPage(page)
        if identity(page.url) not in host:
            return NoPage("offsite-redirect")
        return read_page(parse_html(page.html), page.url, host)

    def step(visit: Visit, path: str) -> str | None:
        """One request for a link: where its redirect leads, or None when it is over."""
        target = site.redirects.get(path)
        if target is None or path in site.failures:
            if path not in site.failures:
                pages.append(path)
            search.tell(visit.rank, answer(ROOT + path))
            return None
        hops[visit.rank] += 1
        if hops[visit.rank] > site.max_redirects:
            search.tell(visit.rank, NoPage("bad-response"))
            return None
        if target.startswith("http"):
            search.tell(visit.rank, NoPage("offsite-redirect"))
            return None
        if search.ways.knows(identity(ROOT + target), visit.rank):
            search.tell(visit.rank, redirect_to(ROOT + target))
            return None
        search.ways.follow(visit.rank, identity(ROOT + target))
        return target

    hops: dict[int, int] = {}
    pages = [loaded.url.removeprefix(ROOT)]
    search_class = KindSearch if strategy == "kinds" else SubdigraphSearch
    search = search_class(
        read_page(root, loaded.url, host),
        get_links(root, loaded.url, host),
        strategy=STRATEGIES[strategy] if isinstance(strategy, str) else strategy,
        in_flight=in_flight,
        max_redirects=site.max_redirects,
        **options,
    )
    asked = [ROOT + key]

    def take() -> list[tuple[Visit, str]]:
        visits = search.take()
        asked.extend(visit.link.url for visit in visits)
        hops.update((visit.rank, 0) for visit in visits)
        return [(visit, visit.link.url.removeprefix(ROOT)) for visit in visits]

    flying = take()
    while not search.reason:
        visit, path = flying.pop(random.randrange(len(flying)))
        target = step(visit, path)
        if target is not None:
            flying.append((visit, target))
        flying += take()
        assert len(search.pending) <= in_flight
    assert len(pages) == len(set(pages))
    return search, asked


def outcome(search: SubdigraphSearch) -> dict[str, Any]:
    return {
        "reason": search.reason,
        "loads": search.loads,
        "candidates": [visit.url for visit in search.members],
        "explored": [
            tuple(value for name, value in row.items() if name in TOLD)
            for row in summary(search, "", "", links=0, hint="", witness=None).explored
        ],
    }


# Of a row, what the literal reading tells, too.
TOLD = {"rank", "link", "url", "outcome", "reason", "missing", "links_to"}

PATHS = [f"/{name}" for name in "abcdefgh"] + [f"/d/{name}" for name in "ijkl"]
HIDDEN = ["/other", "/x", "/y", "/z"]  # pages that nothing leads to, but redirects


@st.composite
def sites(draw: st.DrawFn) -> PlainSite:
    random = draw(st.randoms(use_true_random=False))
    density = draw(st.sampled_from([0.4, 0.7, 0.9]))
    paths = PATHS[: draw(st.integers(1, len(PATHS)))]
    site = PlainSite(
        {
            path: [other for other in paths if random.random() < density]
            for path in ["/", *paths, *HIDDEN]
        }
    )
    site.links["/"] = [path for path in paths if random.random() < 0.9] or paths[:1]
    moved = draw(st.sampled_from([0.12, 0.12, 0.5, 0.9]))
    targets = [*PATHS, "/", *HIDDEN, "http://else.where/"]
    if draw(st.booleans()):
        targets = HIDDEN[: draw(st.integers(1, len(HIDDEN)))]  # where many meet
    for path in [*paths, *HIDDEN]:
        kind = random.random()
        if kind < moved:
            site.redirects[path] = random.choice(targets)
        elif kind < moved + 0.1:
            site.texts[path] = random.choice(["same", "page /", ""])
        elif kind < moved + 0.16:
            site.failures[path] = "http-404"
        if path in HIDDEN and draw(st.booleans()):
            site.redirects.pop(path, None)
    site.max_redirects = draw(st.sampled_from([20, 20, 3, 2, 1]))
    return site


@st.composite
def refusing_sites(draw: st.DrawFn) -> PlainSite:
    """Sites that refuse many links, in rows that pages, duplicates and other faults interrupt."""
    site = draw(sites())
    site.links["/"] = draw(st.permutations(PATHS))
    ends = st.sampled_from("http-429,http-429,timeout,http-404,same,page /,,".split(","))
    for path in PATHS:
        end = draw(ends)
        if end.startswith(("http", "timeout")):
            site.failures[path] = end
        elif end:
            site.texts[path] = end
    return site

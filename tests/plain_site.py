"""A website in memory, and a search over it whose answers come back in any order."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

import literal
from hypothesis import strategies as st

from tplspider import (
    Address,
    Page,
    Site,
    SubdigraphSearch,
    Visit,
    get_links,
    identity,
    parse_html,
    read_page,
)
from tplspider.results import summary
from tplspider.strategies import STRATEGIES

ROOT = "http://example.org"


@dataclass
class PlainSite:
    """A website in memory: what each path links to, its text, where it redirects, why it fails."""

    links: dict[str, list[str]]
    texts: dict[str, str] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def load(self, url: str) -> literal.LiteralPage | str:
        path = url.removeprefix(ROOT)
        for _ in range(20):
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
    strategy: str = "paper",
    in_flight: int = 1,
    seed: int = 0,
    **options: Any,
) -> Any:
    """Search a site in memory; answers come back in an order that the seed decides."""
    random = Random(seed)
    loaded = site.load(ROOT + key)
    assert isinstance(loaded, literal.LiteralPage)
    root = parse_html(loaded.html)
    host = Site(identity(loaded.url))

    def answer(url: str) -> Page | str:
        page = site.load(url)
        if isinstance(page, str):
            return page
        if identity(page.url) not in host:
            return "offsite-redirect"
        return read_page(parse_html(page.html), page.url, host)

    def step(visit: Visit, path: str) -> str | None:
        """One request for a link: where its redirect leads, or None when it is over."""
        target = site.redirects.get(path)
        if target is None or target.startswith("http") or path in site.failures:
            search.tell(visit.rank, answer(ROOT + path))
            return None
        if search.knows(identity(ROOT + target), visit.rank):
            search.tell(visit.rank, Address(ROOT + target, identity(ROOT + target)))
            return None
        hops[visit.rank] = hops.get(visit.rank, 0) + 1
        if hops[visit.rank] > 20:
            search.tell(visit.rank, "bad-response")
            return None
        search.follow(visit.rank, identity(ROOT + target))
        return target

    hops: dict[int, int] = {}
    search = SubdigraphSearch(
        read_page(root, loaded.url, host),
        get_links(root, loaded.url, host),
        strategy=STRATEGIES[strategy],
        in_flight=in_flight,
        **options,
    )
    asked = [ROOT + key]

    def take() -> list[tuple[Visit, str]]:
        visits = search.take()
        asked.extend(visit.link.url for visit in visits)
        return [(visit, visit.link.url.removeprefix(ROOT)) for visit in visits]

    flying = take()
    while not search.reason:
        visit, path = flying.pop(random.randrange(len(flying)))
        target = step(visit, path)
        if target is not None:
            flying.append((visit, target))
        flying += take()
        assert len(search.pending) <= in_flight
    return search, asked


def outcome(search: SubdigraphSearch) -> dict[str, Any]:
    return {
        "reason": search.reason,
        "loads": search.loads,
        "members": [visit.url for visit in search.members],
        "explored": [tuple(row.values()) for row in summary(search, links=0).explored],
    }


PATHS = [f"/{name}" for name in "abcdefgh"] + [f"/d/{name}" for name in "ijkl"]


@st.composite
def sites(draw: st.DrawFn) -> PlainSite:
    random = draw(st.randoms(use_true_random=False))
    density = draw(st.sampled_from([0.4, 0.7, 0.9]))
    paths = PATHS[: draw(st.integers(1, len(PATHS)))]
    site = PlainSite(
        {path: [other for other in paths if random.random() < density] for path in ["/", *paths]}
    )
    site.links["/"] = [path for path in paths if random.random() < 0.9] or paths[:1]
    for path in paths:
        kind = random.random()
        if kind < 0.12:
            site.redirects[path] = random.choice([*PATHS, "/", "/other", "http://else.where/"])
        elif kind < 0.22:
            site.texts[path] = random.choice(["same", "page /", ""])
        elif kind < 0.28:
            site.failures[path] = "http-404"
    return site

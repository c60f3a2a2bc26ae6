"""Crawls that write archives: searched again, without a network, these give the same answers."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import TYPE_CHECKING

from tests.support.archives import rows, search_again
from tests.support.crawls import SITES, run_scrapy
from tests.support.template_site import pages_of, routes_of
from tests.test_warc_records import records

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.crawls import FixtureServer
    from tests.support.template_site import Routes
    from tplspider.demo.server import Handler

HTML = {"Content_Type": "text/html"}


def odd_site() -> Routes:
    """A site whose links are as odd as those of a real one."""
    names = "packed moved gone busy cookie refresh large denied refused plain".split()
    links = "".join(f"<p><a href=/{name}>{name}</a></p>" for name in names)
    asked: Counter[str] = Counter()

    def packed(request: Handler) -> None:
        request.answer(200, gzip.compress(pages["b"]), Content_Encoding="gzip", **HTML)

    def busy(request: Handler) -> None:
        asked["busy"] += 1
        # Of those that ask for it, every second one has to ask again.
        request.answer(503 if asked["busy"] % 2 else 200, pages["c"] + b"<p>Busy", **HTML)

    def cookie(request: Handler) -> None:
        if "seen=yes" in (request.headers["Cookie"] or ""):
            request.answer(200, pages["c"] + b"<p>Crumbs", **HTML)
        else:
            moved = {"Location": "/cookie", "Set_Cookie": "seen=yes; Path=/"}
            request.answer(302, b"", **moved)

    def refused(request: Handler) -> None:
        request.close_connection = True  # without a word

    pages = pages_of(more=links)
    refresh = b"<meta http-equiv=refresh content='0; url=/a'>"
    return {
        **routes_of(pages),
        "/robots.txt": lambda request: request.answer(
            200, b"User-agent: *\nDisallow: /denied\n", Content_Type="text/plain"
        ),
        "/packed": packed,
        "/moved": lambda request: request.answer(301, b"", Location="//me:hidden@elsewhere.test/"),
        "/gone": lambda request: request.answer(404, b"<p>Gone", **HTML),
        "/busy": busy,
        "/cookie": cookie,
        "/refresh": lambda request: request.answer(200, refresh, **HTML),
        "/large": lambda request: request.answer(
            200, pages["a"] + b"<p>More of it" * 20_000, **HTML
        ),
        "/refused": refused,
        "/plain": lambda request: request.answer(200, b"text", Content_Type="text/plain"),
    }


def test_every_page_of_the_fixture_sites(
    tmp_path: Path, serve: Callable[..., FixtureServer]
) -> None:
    """All of them in one list: shared answers, key pages that cannot be used, options of lines."""
    keys: list[dict[str, object]] = []
    for site in sorted(SITES.iterdir()):
        url = serve(site.name).url
        pages = sorted(page.relative_to(site) for page in site.rglob("*.html"))
        keys += [{"url": f"{url}/{page}", "id": str(page)} for page in pages]
    odd = serve("menu", odd_site()).url
    keys += [{"url": f"{odd}/", "n": 9}, {"url": f"{odd}/a", "n": 9, "strategy": "guided"}]
    keys += [{"url": f"{odd}/b", "max_loads": 3}]
    keys += [{"url": f"{odd}/{name}"} for name in ("moved", "gone", "refused", "plain", "denied")]
    keys += [{"url": odd.removeprefix("http://")}, {"url": "ftp://example.org/"}]
    listed, archive = tmp_path / "keys.jl", tmp_path / "a.warc.gz"
    listed.write_text("".join(f"{json.dumps(key)}\n" for key in keys))
    there, here = tmp_path, tmp_path / "again"
    done = run_scrapy(
        *("crawl", "template_candidates", f"-aurls={listed}", f"-awarc={archive}"),
        *(f"-O{there / 'out.jl'}", f"-asummary={there / 'summary.jl'}"),
        f"-atemplate={there / 'template.jl'}",
        folder=tmp_path,
        settings={"RETRY_TIMES": "1"},
    )
    assert done.code == 1  # of the one line that is out of form
    again = search_again(here, archive, listed, f"--template={here / 'template.jl'}")
    assert again.code == 1
    for name in ("summary.jl", "out.jl", "template.jl"):
        assert rows(here / name) == rows(there / name)
    assert len(rows(here / "summary.jl")) == len(keys)
    assert {row["reason"] for row in rows(there / "summary.jl")} >= {"max_loads", "links_exhausted"}
    outcomes = Counter(row["key_outcome"] for row in rows(there / "summary.jl"))
    assert {"http-404", "connection", "not-html", "robots", "bad-input"} <= outcomes.keys()
    reasons = {e["reason"] for row in rows(there / "summary.jl") for e in row["explored"]}
    assert {"robots", "connection", "http-404", "offsite-redirect", "not-html"} <= reasons

    found = records(archive)
    kinds = Counter(record.headers["WARC-Type"] for record in found)
    assert kinds["revisit"] > 0
    assert kinds["response"] > kinds["request"]  # the same answer is for several searches
    text = gzip.decompress(archive.read_bytes())
    assert b"hidden" not in text
    assert b"seen=yes" not in text
    packed, *_ = [
        record
        for record in found
        if record.headers["WARC-Type"] == "response"
        and record.headers["WARC-Target-URI"] == f"{odd}/packed"
    ]
    assert gzip.decompress(packed.reader.read()).startswith(b"<!DOCTYPE html>")

"""Summaries of searches for reports: made up, of the demo, and of hostile sites."""

import json
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from tests.support.crawls import CRAWL, run_scrapy
from tests.support.site_server import Handler, SiteServer
from tplspider.demo import KEY_PAGE

SITE = "http://example.org"


def row(rank: int, links_to: list[int], **more: Any) -> dict[str, Any]:
    url = f"{SITE}/pages/{rank}.html"
    return {
        "rank": rank, "link": url, "url": url, "outcome": "page", "reason": "", "missing": [],
        "title": f"Page number {rank}", "anchor_text": f"to {rank}", "similarity": 0.5,
        "dom_path": f"/html/body/ul/li[{rank}]/a", "h_distance": 0, "links_to": links_to, **more,
    }  # fmt: skip


def summary(rows: list[dict[str, Any]], members: list[int], **more: Any) -> dict[str, Any]:
    """The summary of a search that took up these links, with the members of these ranks."""
    urls = {entry["rank"]: entry["url"] for entry in rows}
    return {
        "key_url": f"{SITE}/", "requested_size": len(members), "cs_size": len(members),
        "complete": True, "reason": "complete_subdigraph", "key_outcome": "ok",
        "loads": len(rows) + 1, "links": len(rows), "candidates": [urls[rank] for rank in members],
        "explored": rows, "bounded": False, "wasted": 0, "hint": "",
        "similarity": 0.5 if members else None, "search_id": "0123456789abcdef",
        "requested_url": f"{SITE}/", "witnesses": [], "witness_loads": 0, "line": None,
        "input": None, "shared": 0, "key_title": "The key page", **more,
    }  # fmt: skip


def random_summary(pages: int, size: int, density: float = 0.3, **more: Any) -> dict[str, Any]:
    """A search of so many pages with random links, and an answer among them."""
    random = Random(pages)
    members = sorted(random.sample(range(1, pages + 1), size))
    rows = []
    for rank in range(1, pages + 1):
        links = {other for other in range(pages + 1) if random.random() < density}
        links |= {*members} if rank in members else set()
        rows.append(row(rank, sorted(links - {rank})))
    return summary(rows, members, **more)


def unusable(**more: Any) -> dict[str, Any]:
    end: Mapping[str, Any] = {
        "complete": False, "reason": "key_page_unusable", "key_outcome": "http-404", "loads": 1,
        "requested_size": 3,
    }  # fmt: skip
    return summary([], [], **{**end, **more})


def template(**more: Any) -> dict[str, Any]:
    return {
        "key_url": f"{SITE}/", "candidates": [f"{SITE}/pages/1.html"], "template_html": "",
        "content_html": "", "content_text": "", "not_template": ["/html/body/p[2]"],
        "template_share": 0.5, "search_id": "0123456789abcdef", "requested_url": f"{SITE}/",
        "evidence": 1, "main_text": "The main text", "main_html": "", "title": "A title", **more,
    }  # fmt: skip


Search = tuple[dict[str, Any], dict[str, Any]]  # a summary and its template


def demo_search(folder: Path) -> Search:
    with SiteServer() as server:
        return search(server.url + KEY_PAGE, folder)


def search(url: str, folder: Path) -> Search:
    pairs = {
        "url": url,
        "summary": folder / "summary.json",
        "texts": folder / "texts.json",
        "report": folder / "report.html",
    }
    options = [f"-a{name}={value}" for name, value in pairs.items()]
    done = run_scrapy(*CRAWL, *options, folder=folder)
    assert done.code == 0, done.log
    (found,) = json.loads((folder / "texts.json").read_bytes())
    return done.summary, found


AWAY = "http://127.0.0.1:64999"  # where nobody listens; not a port that browsers refuse
# What would run, ask for something, or turn the text around it, wherever it was not escaped.
MARKUP = [
    "</title></style></textarea><script>top.ran = self.ran = 1; alert(1)</script>",
    "\"'><img src=http://127.0.0.1:64999/image onerror='self.ran=1'><svg/onload=ran=1>",
    "\u202egnp.exe\u2066\u200f {{ 7*7 }} {% raw %} ${ran=1} <!-- ]]> -->",
    "<iframe srcdoc='<script>top.ran=1</script>'></iframe><base href=http://127.0.0.1:64999/>",
    "javascript:self.ran=1",
]
ADDRESSES = [
    "javascript:self.ran=1",
    "java\tscript:self.ran=1",
    "data:text/html,<script>opener.ran=1</script>",
    "http://127.0.0.1:64999/\"onmouseover=ran=1 '><script>ran=1</script>",
    "//127.0.0.1:64999/",
    "http://[::1",
    "file:///etc/passwd",
    "http://127.0.0.1:64999/" + "a" * 1_000_000,
    "\u202ehttp://127.0.0.1:64999/",
]
PAGE = f"""<html lang="{MARKUP[1]}"><head><title>{MARKUP[0]}</title>
<base href="{AWAY}/"><link rel=stylesheet href={AWAY}/style>
<meta http-equiv=refresh content="0;url={AWAY}/refresh">
<style>@import "{AWAY}/import"; p {{ background: url({AWAY}/) }}</style>
<body background="{AWAY}/background" onload="top.ran=1">
<iframe srcdoc="&lt;script>top.ran=1&lt;/script>"></iframe>
<p data-own style="background:url({AWAY}/attribute)" onclick="ran=1" id="links">own
<a href="javascript:top.ran=1" ping="{AWAY}/ping" target=_top autofocus>link</a></p>
{"".join(MARKUP)}</svg>
<form action="{AWAY}/form"><button formaction="javascript:top.ran=1">go</button></form>
<object data="{AWAY}/object"></object><embed src="{AWAY}/embed">
<video src="{AWAY}/video" autoplay></video><math><mtext></p><style><img onerror=ran=1>
<noscript><p title="</noscript><img src={AWAY}/mxss onerror=top.ran=1>"></noscript>
<svg><a xlink:href="javascript:top.ran=1"><image href="{AWAY}/svg"/></a></svg>
<frameset><frame src="{AWAY}/frame"></frameset>{"words " * 20_000}"""


def hostile_search() -> Search:
    """A search whose every text is hostile, as a file of anybody's may have it."""
    pages = range(1, len(ADDRESSES) + 1)
    rows = []
    for rank, address in zip(pages, ADDRESSES, strict=True):
        text = MARKUP[rank % len(MARKUP)]
        texts = {
            "title": text, "anchor_text": text, "dom_path": text, "reason": text
        }  # fmt: skip
        links = [0, *(other for other in pages if other != rank)]
        rows.append(row(rank, links, url=address, link=ADDRESSES[-rank], **texts))
    rows[0]["title"] = rows[1]["anchor_text"] = "</script>" + "long " * 250_000
    rows.append(row(len(rows) + 1, [], outcome="none", reason="<script>ran=1</script>"))
    found = summary(
        *(rows, [1, 2, 4]), key_url=ADDRESSES[3], key_title=MARKUP[0], hint=" ".join(MARKUP)
    )
    witness = row(1, [], url=ADDRESSES[0], reason=MARKUP[1])
    found |= {"requested_url": ADDRESSES[0], "witnesses": [witness], "input": {"a": MARKUP[0]}}
    texts = {"title": MARKUP[0], "main_text": "".join(MARKUP) + "x" * 1_000_000, "key_html": PAGE}
    return found, template(**texts)


# As paths of a real site.
PATHS = [
    "/<script>top.ran=self.ran=1</script>.html",
    "/\"onfocus='ran=1'autofocus=.html",
    "/{{7*7}}/\u202egnp.html?a=<img src=http://127.0.0.1:64999/ onerror=ran=1>",
    "/javascript:self.ran=1",
]


class HostileSite(SiteServer):
    """Pages that all link to each other; addresses, titles and words carry script and markup."""

    def respond(self, request: Handler) -> None:
        if request.path == "/robots.txt":
            request.answer(404)
            return
        links = "".join(
            f"<li><a href='{_attribute(path)}'>{_attribute(MARKUP[place])}</a>"
            for place, path in enumerate(PATHS)
        )
        own = f"<h1>{_attribute(request.path)}</h1><p>{_attribute(MARKUP[0])}</p>"
        body = PAGE.replace("<base", "<x-base").replace("http-equiv", "x-equiv")
        title = MARKUP[0] + MARKUP[len(request.path) % len(MARKUP)]
        text = f"<title>{_attribute(title)}</title><ul>{links}</ul>{own}"
        request.answer(200, (text + body).encode(), Content_Type="text/html; charset=utf-8")


def _attribute(text: str) -> str:
    return text.replace("&", "&amp;").replace("'", "&#39;").replace("<", "&lt;")


def index_rows() -> list[dict[str, Any]]:
    """Summaries for an index: hostile ones, and such as any crawl has."""
    hostile = hostile_search()[0]
    rows = [row(1, [0, 2]), row(2, [0, 1])]
    plain = [
        summary(rows, [1, 2], search_id=f"{line:016x}", line=line, requested_url=f"{SITE}/{line}")
        for line in range(1, 6)
    ]
    worse = {"key_outcome": "bad-input", "complete": False, "search_id": "", "line": 7}
    return [*plain, hostile | {"line": 6}, hostile | worse]

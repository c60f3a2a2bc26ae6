"""Summaries of searches that never were, for reports."""

from collections.abc import Mapping
from random import Random
from typing import Any

SITE = "http://example.org"


def row(rank: int, links_to: list[int], **more: Any) -> dict[str, Any]:
    """An explored page."""
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
    """The summary of a key page that gave nothing."""
    end: Mapping[str, Any] = {
        "complete": False, "reason": "key_page_unusable", "key_outcome": "http-404", "loads": 1,
        "requested_size": 3,
    }  # fmt: skip
    return summary([], [], **{**end, **more})


def template(**more: Any) -> dict[str, Any]:
    """The template of the same search."""
    return {
        "key_url": f"{SITE}/", "candidates": [f"{SITE}/pages/1.html"], "template_html": "",
        "content_html": "", "content_text": "", "not_template": ["/html/body/p[2]"],
        "template_share": 0.5, "search_id": "0123456789abcdef", "requested_url": f"{SITE}/",
        "evidence": 1, "main_text": "The main text", "main_html": "", "title": "A title", **more,
    }  # fmt: skip

"""A search in words, event by event, for the person who runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.search.ends import KEY_PAGE_UNUSABLE, POOL
from tplspider.search.hints import missing_links_text
from tplspider.search.wording import counted, mutually_linked

if TYPE_CHECKING:
    from tplspider.items import CandidateSearch, WitnessLink
    from tplspider.search.algorithm import Visit
    from tplspider.search.window import SubdigraphSearch

_TOLD = 3  # missing links that are told; the summary has more


def link_line(search: SubdigraphSearch, visit: Visit) -> str:
    """What became of a link and of the best CS."""
    return f"#{visit.rank} {visit.link.url}: {_decision(search, visit)}"


def witness_line(row: WitnessLink) -> str:
    """What became of the page that was loaded for the template alone."""
    what = "page" if row["outcome"] == "page" else f"no page of its own ({row['reason']})"
    return f"One more page for the template, {row['link']}: {what}"


def end_line(summary: CandidateSearch) -> str:
    """How a search ended."""
    if summary.reason == KEY_PAGE_UNUSABLE:
        why = f": {summary.hint}" if summary.hint else ""
        return f"The key page {summary.key_url} cannot be used ({summary.key_outcome}){why}"
    if summary.reason == POOL:
        return f"{summary.key_url} was compared with the pool of its site, without a search"
    return (
        f"{'Complete' if summary.complete else 'Incomplete'}: {mutually_linked(summary.cs_size)},"
        f" a CS of {summary.cs_size} where {summary.requested_size} were asked for,"
        f" found with {counted(summary.loads, 'load')} ({summary.reason})"
    )


def missing_line(summary: CandidateSearch) -> str:
    """Of an incomplete answer, which page was nearest to be a member, and why it is not."""
    rows = [row for row in summary.explored if row["missing"] and not summary.complete]
    if not rows:
        return ""
    nearest = min(rows, key=lambda row: len(row["missing"]))
    missing = missing_links_text(nearest["missing"], most=_TOLD)
    return f"Nearest to one more member is page {nearest['rank']}, {nearest['url']}: {missing}"


def _decision(search: SubdigraphSearch, visit: Visit) -> str:
    if visit.outcome == "none":
        why = f": {visit.no_page.detail}" if visit.no_page and visit.no_page.detail else ""
        return f"no page ({visit.reason}{why})"
    if visit.outcome == "duplicate":
        what = f"duplicate ({visit.reason})"
    else:
        what = "page" if visit.url == visit.link.url else f"page at {visit.url}"
    ranks = [member.rank for member in search.members]
    return f"{what}; {mutually_linked(len(ranks))} so far (best CS: {ranks} of {search.size})"

"""From a search to the items it gives."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from tplspider.items import CandidateSearch, TemplateCandidate
from tplspider.search.hints import answer_hint, joined
from tplspider.search.hyperlink_distance import HyperlinkDistances
from tplspider.web.links import Link
from tplspider.web.similarity import similarity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.search.window import SubdigraphSearch

KEY_PAGE_UNUSABLE = "key_page_unusable"
MOST_MISSING = 10  # links told of a page that is not a member: there may be thousands of pages


def candidates(search: SubdigraphSearch) -> Iterator[TemplateCandidate]:
    """The pages of the best complete subdigraph, in the order they were explored."""
    distances = HyperlinkDistances(search.key_page.identity)
    for visit in search.members:
        link = visit.link
        assert isinstance(link, Link)
        assert visit.page
        yield TemplateCandidate(
            key_url=search.key_page.url,
            url=visit.url,
            link=link.url,
            rank=visit.rank,
            h_distance=distances.to(link.identity),
            anchor_text=link.anchor_text,
            dom_path=link.dom_path,
            title=visit.page.title,
            requested_size=search.size,
            cs_size=len(search.members),
            complete=search.complete,
            loads=search.loads,
            similarity=similarity(search.key_page, visit.page),
        )


def summary(search: SubdigraphSearch, links: int, hint: str = "") -> CandidateSearch:
    """How a search among that many links went; *hint* is about its key page."""
    values = [similarity(search.key_page, visit.page) for visit in search.members if visit.page]
    return CandidateSearch(
        key_url=search.key_page.url,
        requested_size=search.size,
        cs_size=len(search.members),
        complete=search.complete,
        reason=search.reason,
        key_outcome="ok",
        loads=search.loads,
        links=links,
        members=[visit.url for visit in search.members],
        explored=[
            {
                "rank": visit.rank,
                "link": visit.link.url,
                "url": visit.url,
                "outcome": visit.outcome,
                "reason": visit.reason,
                "missing": [
                    list(link) for link in islice(search.missing_links(visit), MOST_MISSING)
                ],
            }
            for visit in search.visits
        ],
        bounded=search.bounded,
        wasted=search.wasted,
        hint=joined(hint, answer_hint(values, search.size)),
        similarity=min(values, default=None),
    )


def unusable(
    key_url: str, size: int, outcome: str, hint: str = "", reason: str = KEY_PAGE_UNUSABLE
) -> CandidateSearch:
    """The summary of a search that could not start, because of what its key page gave."""
    return CandidateSearch(
        key_url=key_url,
        requested_size=size,
        cs_size=0,
        complete=False,
        reason=reason,
        key_outcome=outcome,
        loads=1,
        links=0,
        hint=hint,
    )

"""From a search to the items it gives."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from tplspider.items import CandidateSearch, ExploredLink, TemplateCandidate
from tplspider.search.ends import KEY_PAGE_UNUSABLE
from tplspider.search.hints import answer_hint, joined
from tplspider.search.hyperlink_distance import HyperlinkDistances
from tplspider.search.witness_visit import witness_link
from tplspider.web.html import Link
from tplspider.web.similarity import similarity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.search.algorithm import Visit
    from tplspider.search.window import SubdigraphSearch

MOST_MISSING = 10  # links told of a page that is not a member: there may be thousands of pages
LONGEST = 1000  # characters of a title, of the words of a link and of its path, in each row


def candidates(
    search: SubdigraphSearch, search_id: str, requested_url: str
) -> Iterator[TemplateCandidate]:
    """The pages of the best complete subdigraph, in the order they were explored."""
    distances = HyperlinkDistances(search.key_page.identity)
    for visit in search.members:
        if visit.page and isinstance(visit.link, Link):
            yield TemplateCandidate(
                key_url=search.key_page.url,
                url=visit.url,
                link=visit.link.url,
                rank=visit.rank,
                h_distance=distances.to(visit.link.identity),
                anchor_text=visit.link.anchor_text,
                dom_path=visit.link.dom_path,
                title=visit.page.title,
                requested_size=search.size,
                cs_size=len(search.members),
                complete=search.complete,
                loads=search.loads,
                similarity=similarity(search.key_page, visit.page),
                search_id=search_id,
                requested_url=requested_url,
            )


def summary(
    search: SubdigraphSearch,
    search_id: str,
    requested_url: str,
    *,
    links: int,
    hint: str,
    witness: Visit | None,
) -> CandidateSearch:
    """How a search went that had a key page with that many links."""
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
        explored=explored_links(search),
        bounded=search.bounded,
        wasted=search.wasted,
        hint=joined(hint, answer_hint(values, search.size, links)),
        similarity=min(values, default=None),
        search_id=search_id,
        requested_url=requested_url,
        witnesses=[witness_link(witness)] if witness else [],
        witness_loads=1 if witness else 0,
        key_title=search.key_page.title[:LONGEST],
        not_archived=sum(visit.is_absent for visit in search.visits),
    )


def explored_links(search: SubdigraphSearch) -> list[ExploredLink]:
    """The links that were taken up, by rank, and what became of each."""
    distances = HyperlinkDistances(search.key_page.identity)
    return [_explored_link(search, visit, distances) for visit in search.visits]


def _explored_link(
    search: SubdigraphSearch, visit: Visit, distances: HyperlinkDistances
) -> ExploredLink:
    link, page = visit.link, visit.page
    # A page may nest its links, each with all the words of the next: rows are kept short.
    words = link.anchor_text[:LONGEST] if isinstance(link, Link) else ""
    path = link.dom_path if isinstance(link, Link) else ""
    return {
        "rank": visit.rank,
        "link": link.url,
        "url": visit.url,
        "outcome": visit.outcome,
        "reason": visit.reason,
        "missing": [list(pair) for pair in islice(search.missing_links(visit), MOST_MISSING)],
        "title": page.title[:LONGEST] if page else "",
        "anchor_text": words,
        "dom_path": path if len(path) <= LONGEST else "",
        "h_distance": distances.to(link.identity),
        "similarity": similarity(search.key_page, page) if page else None,
        "links_to": search.links_from(visit),
    }


def unanswered(
    requested_url: str,
    outcome: str,
    why: str,
    search_id: str = "",
    *,
    line: int | None = None,
    own: dict[str, Any] | None = None,
) -> CandidateSearch:
    """The summary of a search that gives nothing, or was never made.

    *line* is that of a list, and *own* what else stands there.
    """
    return CandidateSearch(
        key_url="",
        requested_size=0,
        cs_size=0,
        complete=False,
        reason=KEY_PAGE_UNUSABLE,
        key_outcome=outcome,
        loads=0,
        links=0,
        hint=why,
        search_id=search_id,
        requested_url=requested_url,
        line=line,
        input=own,
    )

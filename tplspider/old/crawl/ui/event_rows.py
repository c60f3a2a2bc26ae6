"""What happens in a search as rows of JSON, for whoever watches it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tplspider.search.answer import LONGEST
from tplspider.web.html import Link
from tplspider.web.similarity import similarity
from tplspider.web.text import storable

if TYPE_CHECKING:
    from tplspider.search.cliques import SubdigraphSearch, Visit
    from tplspider.search.session import SearchSession


def started_row(session: SearchSession, links: int, unparsable: int) -> dict[str, Any]:
    """The key page was read, and has that many links."""
    title = session.search.key_page.title if session.search else ""
    return {
        "event": "started",
        "url": storable(session.key_url),
        "title": _text(title),
        "links": links,
        "unparsable": unparsable,
    }


def link_row(search: SubdigraphSearch, visit: Visit) -> dict[str, Any]:
    """A link was taken into account; *members* are the ranks of the best CS so far."""
    link, page = visit.link, visit.page
    return {
        "event": "link",
        "rank": visit.rank,
        "link": storable(link.url),
        "url": storable(visit.url),
        "outcome": visit.outcome,
        "reason": storable(visit.reason),
        "title": _text(page.title) if page else "",
        "anchor_text": _text(link.anchor_text) if isinstance(link, Link) else "",
        "similarity": similarity(search.key_page, page) if page else None,
        "members": [member.rank for member in search.members],
        "loads": search.loads,
    }


def _text(text: str) -> str:
    return storable(text[:LONGEST])

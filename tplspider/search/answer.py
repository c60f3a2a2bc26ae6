"""What users read of a search: its items, log lines and hints."""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any

from tplspider.items import CandidateSearch, ExploredLink, TemplateCandidate
from tplspider.search.cliques import KEY_PAGE_UNUSABLE, POOL, REFUSED, SubdigraphSearch, Visit
from tplspider.search.kinds import KINDS, KindSearch
from tplspider.search.sort_links import HyperlinkDistances
from tplspider.search.witness import witness_link
from tplspider.web.html import Element, Link, no_links_hint, script_menu_hint
from tplspider.web.page import BAD_RESPONSE, CONNECTION, DNS, NOT_ARCHIVED, ROBOTS, TIMEOUT, WebPage
from tplspider.web.similarity import LOW_SIMILARITY, similarity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tplspider.items import WitnessLink
    from tplspider.web.addresses import Site


def counted(number: int, what: str) -> str:
    """A number and a noun, in the plural where needed.

    >>> counted(1, "page"), counted(3, "page")
    ('1 page', '3 pages')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def mutually_linked(size: int) -> str:
    """A CS of that size, in plain words.

    >>> mutually_linked(3), mutually_linked(1)
    ('3 pages that all link to each other', '1 page')
    """
    return counted(size, "page") + (" that all link to each other" if size > 1 else "")


_ONE_PAGE = (
    "one page alone proves nothing: no other page confirms that it has the key page's template"
)
NO_EVIDENCE = "no other page gave evidence of the template, so nothing is known to be template"
EMPTY_ANSWER = "the answer is empty"
_HTTPS_ASSUMED = "the address has no scheme, so https was assumed: try http://..."
_ROBOTS = "robots.txt of the site forbids this page"
_NOBODY_THERE = (CONNECTION, DNS, TIMEOUT, NOT_ARCHIVED)
_WANTED = 3  # pages, of which each is confirmed by others


def joined(*hints: str) -> str:
    """Several hints as one text; '' for none."""
    return "; ".join(filter(None, hints))


def outcome_hint(key_outcome: str, requested_url: str) -> str:
    """Hint for a key page that cannot be used; '' if the outcome is enough."""
    assumed = key_outcome in _NOBODY_THERE and "//" not in requested_url
    return joined(_HTTPS_ASSUMED if assumed else "", _ROBOTS if key_outcome == ROBOTS else "")


def key_page_hint(
    root: Element, page: WebPage, site: Site, links: int, *, runs_scripts: bool
) -> str:
    """Hint for a key page with that many links; '' for most pages."""
    return joined(
        "" if links else no_links_hint(root, page.url, site, page.encoding),
        "" if runs_scripts else script_menu_hint(root, links),
    )


def key_page_fault_hint(page: WebPage, fault: str) -> str:
    """Hint for an answer that is not a page to search from; '' if its fault is enough."""
    return EMPTY_ANSWER if fault == BAD_RESPONSE and not page.body else ""


def answer_hint(similarities: Sequence[float], size: int, links: int) -> str:
    """Hint for members with these similarities to the key page.

    *size* of them were wanted; the key page has so many *links*, and no more can be asked for.
    """
    hints = []
    found = len(similarities)
    if found == 1:
        more = f"; ask for more (-a n={min(links, _WANTED)})" if size == 1 < links else ""
        hints.append(_ONE_PAGE + more)
    if low := [value for value in similarities if value < LOW_SIMILARITY]:
        which = "the page found" if found == 1 else f"{len(low)} of the {found} pages found"
        hints.append(
            f"{which} {'shares' if len(low) == 1 else 'share'} next to nothing with the key page"
            f" (similarity {min(low):.2f}, below {LOW_SIMILARITY}) and may have another template"
        )
    return joined(*hints)


def no_pages_hint(search: SubdigraphSearch) -> str:
    """Hint for a search most of whose links gave no page; '' for others."""
    if search.reason == REFUSED:
        count, reason = len(search.refusals), search.refusals[-1]
        return f"the site refused {count} links in a row ({reason}), so the search stopped"
    reasons = Counter(visit.reason for visit in search.visits if visit.outcome == "none")
    if search.complete or 2 * reasons.total() < len(search.visits) or not reasons:
        return ""
    counts = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common())
    return f"{reasons.total()} of {counted(len(search.visits), 'link')} gave no page ({counts})"


def private_address_hint(*, of_link: bool, allowed: bool = False) -> str:
    """Why a private address was refused, and which setting allows it.

    Where the key page may be private (*allowed*), or is not what was refused (*of_link*), it was
    a public page that led there.
    """
    if of_link or allowed:
        return "public pages may not lead to private addresses, whatever TPLSPIDER_ALLOW_PRIVATE is"
    return (
        "private addresses are refused: --allow-private or -s TPLSPIDER_ALLOW_PRIVATE=1 allows them"
    )


def missing_links_text(missing: Sequence[Sequence[int]], most: int) -> str:
    """The first of the missing links, each by the ranks of its two pages, in words.

    >>> missing_links_text([(3, 1), (2, 3), (3, 4)], most=2)
    'page 3 does not link to page 1, page 2 does not link to page 3 ...'
    """
    first = [f"page {source} does not link to page {target}" for source, target in missing[:most]]
    return ", ".join(first) + (" ..." if len(missing) > most else "")


_SHOWN = 3  # missing links in the log; the summary has more


def link_line(search: SubdigraphSearch, visit: Visit) -> str:
    """Log line for a link: its outcome, and the best CS so far."""
    return f"#{visit.rank} {visit.link.url}: {_decision(search, visit)}"


def witness_line(row: WitnessLink) -> str:
    """Log line for the page that was loaded for the template alone."""
    what = "page" if row["outcome"] == "page" else f"no page of its own ({row['reason']})"
    return f"Extra page for the text, {row['link']}: {what}"


def end_line(summary: CandidateSearch) -> str:
    """How a search ended."""
    if summary.reason == KEY_PAGE_UNUSABLE:
        why = f": {summary.hint}" if summary.hint else ""
        return f"The key page {summary.key_url} cannot be used ({summary.key_outcome}){why}"
    if summary.reason == POOL:
        return f"{summary.key_url} was compared with the pool of its site, without a search"
    found = counted(summary.cs_size, "page") + " to compare with"
    if summary.method != KINDS:
        found = mutually_linked(summary.cs_size)
    return (
        f"{'Complete' if summary.complete else 'Incomplete'}: {found},"
        f" {summary.requested_size} requested, {counted(summary.loads, 'load')} ({summary.reason})"
    )


def missing_line(summary: CandidateSearch) -> str:
    """For an incomplete answer: the page that was nearest to being a member, and what it lacks."""
    rows = [row for row in summary.explored if row["missing"] and not summary.complete]
    if not rows:
        return ""
    nearest = min(rows, key=lambda row: len(row["missing"]))
    missing = missing_links_text(nearest["missing"], most=_SHOWN)
    return f"Nearest to one more member is page {nearest['rank']}, {nearest['url']}: {missing}"


def _decision(search: SubdigraphSearch, visit: Visit) -> str:
    if visit.outcome == "none":
        why = f": {visit.no_page.detail}" if visit.no_page and visit.no_page.detail else ""
        return f"no page ({visit.reason}{why})"
    if visit.outcome == "duplicate":
        what = f"duplicate ({visit.reason})"
    else:
        what = "page" if visit.url == visit.link.url else f"page at {visit.url}"
    if isinstance(search, KindSearch):
        return f"{what}; {len(search.found)} of {search.size}"
    ranks = [member.rank for member in search.members]
    return f"{what}; {mutually_linked(len(ranks))} so far (best CS: {ranks} of {search.size})"


MOST_MISSING = 10  # missing links in a row of the summary: there may be thousands
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
                anchor_text=visit.link.anchor_text[:LONGEST],
                dom_path=_short_path(visit.link),
                title=visit.page.title[:LONGEST],
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
    """The summary of a search from a key page with that many links."""
    distances = HyperlinkDistances(search.key_page.identity)
    values = [similarity(search.key_page, visit.page) for visit in search.found if visit.page]
    return CandidateSearch(
        key_url=search.key_page.url,
        requested_size=search.size,
        cs_size=len(search.found),
        complete=search.complete,
        reason=search.reason,
        key_outcome="ok",
        loads=search.loads,
        links=links,
        candidates=[visit.url for visit in search.members],
        explored=[_explored_link(search, visit, distances) for visit in search.visits],
        bounded=search.bounded,
        wasted=search.wasted,
        hint=joined(hint, no_pages_hint(search), answer_hint(values, search.size, links)),
        similarity=min(values, default=None),
        search_id=search_id,
        requested_url=requested_url,
        witnesses=[witness_link(witness)] if witness else [],
        witness_loads=1 if witness else 0,
        key_title=search.key_page.title[:LONGEST],
        not_archived=sum(visit.is_absent for visit in search.visits),
        method=KINDS if isinstance(search, KindSearch) else "search",
    )


def _explored_link(
    search: SubdigraphSearch, visit: Visit, distances: HyperlinkDistances
) -> ExploredLink:
    link, page = visit.link, visit.page
    # A page may nest its links, each with all the words of the next: rows are kept short.
    words = link.anchor_text[:LONGEST] if isinstance(link, Link) else ""
    return {
        "rank": visit.rank,
        "link": link.url,
        "url": visit.url,
        "outcome": visit.outcome,
        "reason": visit.reason,
        "missing": [list(pair) for pair in islice(search.missing_links(visit), MOST_MISSING)],
        "title": page.title[:LONGEST] if page else "",
        "anchor_text": words,
        "dom_path": _short_path(link) if isinstance(link, Link) else "",
        "h_distance": distances.to(link.identity),
        "similarity": similarity(search.key_page, page) if page else None,
        "links_to": search.links_from(visit),
    }


def _short_path(link: Link) -> str:
    """The path of a link, or '' if it is too long: a part of a path leads elsewhere."""
    path = link.dom_path
    return path if len(path) <= LONGEST else ""


def unanswered(
    requested_url: str,
    outcome: str,
    why: str,
    search_id: str = "",
    *,
    line: int | None = None,
    own: dict[str, Any] | None = None,
) -> CandidateSearch:
    """The summary of a search without a result, or of one that was never started.

    *line* is that of a list, and *own* has the user's columns.
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

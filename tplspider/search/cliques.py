"""Algorithm 2: links are taken into account one after the other, until an n-CS is found.

The set Connections is a graph of the explored pages; the largest complete subdigraph (CS) that a
new page is in may be the best so far. Several links may be in flight at a time: the driver asks
the search for links to load, and reports the answer to each. The search knows which link is next,
what the best CS is, and when it ends. It does no input or output: a crawl, a test on plain dicts
and an offline run over saved pages drive the same object.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tplspider.web.page import (
    BAD_RESPONSE,
    NOT_ARCHIVED,
    OFFSITE_REDIRECT,
    REFUSALS,
    Answer,
    NoPage,
    Page,
    Redirect,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from typing import Any

    from tplspider.web.addresses import Address


# Why a search ends, in the words that users read: the reason of its summary, and of the crawl.

COMPLETE = "complete_subdigraph"
PAGES_FOUND = "pages_found"  # those to compare the key page with, with the strategy kinds
LINKS_EXHAUSTED = "links_exhausted"
MAX_LOADS = "max_loads"
MAX_SECONDS = "max_seconds"
CANCELLED = "cancelled"
REFUSED = "refused"  # by the site: the same refusal, link after link
KEY_PAGE_UNUSABLE = "key_page_unusable"
POOL = "pool"  # a saved pool of the site made the search unnecessary


# Complete subdigraphs (CS): pages that all link to each other, found as pages come in.
#
# A CS of the link graph is a clique of the graph of mutual links. Pages are numbered by rank and
# sets of pages are integers used as bit sets, bit *i* for page *i*.

MAX_SEARCH_NODES = 30_000
MAX_REFUSALS = 10


class CompleteSubdigraphs:
    """The best CS of a growing graph of mutual links (the loop body of Algorithm 2).

    >>> subdigraphs = CompleteSubdigraphs(size=2)
    >>> subdigraphs.update(0, 0b00)
    >>> subdigraphs.update(1, 0b01)
    >>> subdigraphs.best, subdigraphs.complete
    ((0, 1), True)
    """

    def __init__(self, size: int, max_nodes: int = MAX_SEARCH_NODES) -> None:
        self.size = size
        self.max_nodes = max_nodes
        self.best: tuple[int, ...] = ()
        self.bounded = False  # whether a step gave up
        self._mutual: list[int] = []

    @property
    def complete(self) -> bool:
        """Whether the best CS has the size that was asked for."""
        return len(self.best) == self.size

    def update(self, page: int, mutual: int) -> None:
        """Take in that *page* and the pages *mutual* link to each other, and improve the best CS.

        *page* is the next page, or an earlier one that has gained mutual links.
        """
        if page == len(self._mutual):
            self._mutual.append(0)
        gained = mutual & ~self._mutual[page]
        self._mutual[page] |= mutual
        for other in members(gained):
            self._mutual[other] |= 1 << page
        # Whatever is new contains the page. Without the page it was a CS before, no larger than
        # the best: so one member more is all there is to gain, unless an earlier step gave up.
        budget = SearchBudget(self.max_nodes)
        grown = True
        while grown and not self.complete:
            try:
                found = first_clique(self._mutual, self._mutual[page], len(self.best), budget)
            except OutOfNodesError:
                self.bounded = True
                return
            if found is not None:
                self.best = tuple(sorted((*found, page)))
            grown = found is not None and self.bounded


@dataclass(slots=True)
class SearchBudget:
    """How many candidates a step may still examine."""

    nodes: int = MAX_SEARCH_NODES

    def spend(self, nodes: int) -> None:
        self.nodes -= nodes
        if self.nodes < 0:
            raise OutOfNodesError


class OutOfNodesError(Exception):
    """A step has examined as many candidates as it may."""


def first_clique(
    mutual: Sequence[int], candidates: int, size: int, budget: SearchBudget
) -> list[int] | None:
    """The clique of *size* pages among the *candidates* that comes first by rank, if there is one.

    Depth first in the order of rank, so that the first clique met is the answer. Branches are cut
    by a greedy colouring: a set that size - 1 colours suffice for holds no clique of that size.
    Every candidate looked at counts as a search node, which bounds the time without a clock.

    >>> first_clique([0b110, 0b101, 0b011], 0b111, 2, SearchBudget())
    [0, 1]
    """
    chosen: list[int] = []
    # Each level: what may still be chosen there, and the last page worth choosing.
    levels: list[tuple[int, int]] = []
    while True:
        wanted = size - len(chosen)
        if wanted == 0:
            return chosen
        budget.spend(1)
        last = -1
        if candidates.bit_count() >= wanted:
            lowest = (candidates & -candidates).bit_length() - 1
            if candidates & ~mutual[lowest] == 1 << lowest:
                # Mutual with all the others: where there is a clique, there is one with this page.
                last = lowest
            else:
                budget.spend(candidates.bit_count())
                last = _last_start(mutual, candidates, wanted)
        levels.append((candidates, last))
        # Go on with the first page worth choosing, on this level or on the nearest above.
        while True:
            candidates, last = levels[-1]
            lowest = (candidates & -candidates).bit_length() - 1
            if 0 <= lowest <= last:
                break
            levels.pop()
            if not levels:
                return None
            chosen.pop()
        rest = candidates ^ (1 << lowest)
        levels[-1] = rest, last
        chosen.append(lowest)
        candidates = rest & mutual[lowest]


def _last_start(mutual: Sequence[int], candidates: int, size: int) -> int:
    """The last candidate that can be the first of a clique of *size*, or -1.

    Colours are given to the candidates from the last to the first, and pages of one colour have no
    mutual links. As long as fewer than *size* colours suffice, there is no such clique.
    """
    for _ in range(size - 1):
        free = candidates
        while free:
            page = free.bit_length() - 1
            candidates ^= 1 << page
            free &= ~mutual[page] & ~(1 << page)
        if not candidates:
            return -1
    return candidates.bit_length() - 1


def members(pages: int) -> list[int]:
    """The pages of a bit set, by rank.

    >>> members(0b1010)
    [1, 3]
    """
    found = []
    while pages:
        found.append((pages & -pages).bit_length() - 1)
        pages &= pages - 1
    return found


class LinkGraph:
    """The links among the explored pages, each of which may go by several names.

    A page's names are the identities of its link, of its final address, and of those of its
    duplicates: a link to any of them is a link to the page. Pages are numbered from 0 as they are
    added; sets of pages are integers, bit *i* for page *i*.
    """

    def __init__(self) -> None:
        self._called: defaultdict[str, int] = defaultdict(int)  # the pages of a name
        self._linking: defaultdict[str, int] = defaultdict(int)  # the pages that link to a name
        self._to: list[int] = []  # of each page: the pages it links to
        self._from: list[int] = []  # of each page: the pages that link to it

    def __len__(self) -> int:
        return len(self._to)

    def add_page(self, names: Iterable[str], links: Iterable[str]) -> int:
        """Add a page that links to all *links*; returns its number."""
        page = len(self)
        self._to.append(0)
        self._from.append(0)
        for link in links:
            self._linking[link] |= 1 << page
            if link in self._called:
                self._to[page] |= self._called[link]
        for other in members(self._to[page]):
            self._from[other] |= 1 << page
        self.add_names(page, names)
        return page

    def add_names(self, page: int, names: Iterable[str]) -> None:
        """Let links to any of *names* count as links to *page*."""
        for name in names:
            self._called[name] |= 1 << page
            if name in self._linking:
                self._from[page] |= self._linking[name]
        for other in members(self._from[page]):
            self._to[other] |= 1 << page

    def mutual(self, page: int) -> int:
        """The other pages that *page* links to and that link to it."""
        return self._to[page] & self._from[page] & ~(1 << page)

    def linked(self, page: int) -> int:
        """The other pages that *page* links to."""
        return self._to[page] & ~(1 << page)

    def links(self, page: int, other: int) -> bool:
        """Whether *page* links to *other*."""
        return bool(self._to[page] >> other & 1)


_KEY_PAGE = -1  # its number; those of explored pages start from 0


@dataclass(slots=True)
class Visit:
    """A link that was taken up, and its outcome, once that is known: page, duplicate or no page."""

    rank: int
    link: Address
    url: str
    page: Page | None = None  # an explored page
    duplicate_of: str = ""  # the address of the page that this is a duplicate of
    no_page: NoPage | None = None
    is_key_page: bool = False  # it is a duplicate of the key page
    is_absent: bool = False  # it is known beforehand that there is nothing to load

    @property
    def outcome(self) -> Literal["page", "duplicate", "none"]:
        """The outcome of the link, in the word that users read."""
        if self.page:
            return "page"
        return "duplicate" if self.duplicate_of else "none"

    @property
    def reason(self) -> str:
        """Why the link did not give a page of its own, in the words that users read."""
        if self.no_page:
            return self.no_page.reason
        if self.is_key_page:
            return "key-page"
        return f"duplicate-of {self.duplicate_of}" if self.duplicate_of else ""


class Exploration:
    """The pages explored from one key page, by rank, and the best CS among them."""

    def __init__(self, key_page: Page, size: int, max_nodes: int = MAX_SEARCH_NODES) -> None:
        self.key_page = key_page
        self.size = size
        self.loads = 1  # the key page
        self.visits: list[Visit] = []  # links taken into account, by rank
        self._pages: list[Visit] = []  # explored pages, by number
        self._final = {key_page.identity: _KEY_PAGE}
        self._names_of_key_page = {key_page.identity}
        self._texts = {key_page.fingerprint: _KEY_PAGE} if key_page.fingerprint else {}
        self._graph = LinkGraph()
        self._subdigraphs = CompleteSubdigraphs(size, max_nodes)

    @property
    def members(self) -> list[Visit]:
        """The pages of the best CS so far, by rank."""
        return [self._pages[page] for page in self._subdigraphs.best]

    @property
    def found(self) -> list[Visit]:
        """The pages of the answer, by rank."""
        return self.members

    @property
    def complete(self) -> bool:
        """Whether an n-CS was found."""
        return self._subdigraphs.complete

    @property
    def bounded(self) -> bool:
        """Whether a step gave up."""
        return self._subdigraphs.bounded

    def __contains__(self, identity: object) -> bool:
        """Whether this is the final address of a known page: no need to load it."""
        return identity in self._final

    def duplicate_of(self, page: Page) -> str:
        """The address of the page that this is a duplicate of; '' for a page of its own."""
        original = self._original_of(page)
        if original is None:
            return ""
        return self.key_page.url if original == _KEY_PAGE else self._pages[original].url

    def missing_links(self, visit: Visit) -> Iterator[tuple[int, int]]:
        """The links that keep an explored page out of the best CS, from one rank to another.

        They come by the rank of the member; there are none for a member, or what is not a page.
        """
        if visit.page is None:
            return
        page = self._final[visit.page.identity]
        for member in self._subdigraphs.best:
            for source, target in ((page, member), (member, page)):
                if source != target and not self._graph.links(source, target):
                    yield self._pages[source].rank, self._pages[target].rank

    def links_from(self, visit: Visit) -> list[int]:
        """The ranks of the explored pages that one of them links to, 0 first for the key page.

        There are none for what is not a page.
        """
        if visit.page is None:
            return []
        to_key = not self._names_of_key_page.isdisjoint(visit.page.links)
        linked = members(self._graph.linked(self._final[visit.page.identity]))
        return [0] * to_key + [self._pages[other].rank for other in linked]

    def account(self, visit: Visit, answer: Answer) -> None:
        """Take into account what the next link by rank gave.

        A link to a known address is a duplicate, whatever the answer, and is not a load. Nor is
        an absent one.
        """
        self.visits.append(visit)
        known = self._final.get(visit.link.identity)
        if known is not None:
            self._account_duplicate(visit, known)
            return
        self.loads += not visit.is_absent
        match answer:
            case NoPage():
                visit.no_page = answer
            case Redirect():
                visit.url = answer.url
                self._account_duplicate(visit, self._final[answer.identity], answer.identity)
            case Page():
                visit.url = answer.url
                original = self._original_of(answer)
                if original is None:
                    self._account_page(visit, answer)
                else:
                    self._final[answer.identity] = original
                    self._account_duplicate(visit, original, answer.identity)

    def _original_of(self, page: Page) -> int | None:
        """The page that was reached at the same address before, or has the same text."""
        original = self._final.get(page.identity)
        if original is None and page.fingerprint:
            original = self._texts.get(page.fingerprint)
        return original

    def _account_page(self, visit: Visit, page: Page) -> None:
        visit.page = page
        self._pages.append(visit)
        number = self._graph.add_page({visit.link.identity, page.identity}, page.links)
        self._final[page.identity] = number
        if page.fingerprint:
            self._texts[page.fingerprint] = number
        self._step(number)

    def _account_duplicate(self, visit: Visit, original: int, *names: str) -> None:
        if original == _KEY_PAGE:
            visit.duplicate_of, visit.is_key_page = self.key_page.url, True
            self._names_of_key_page.update((visit.link.identity, *names))
            return
        visit.duplicate_of = self._pages[original].url
        self._graph.add_names(original, (visit.link.identity, *names))
        self._step(original)

    def _step(self, page: int) -> None:
        """The largest CS that the page is in (the paper's maximalCS) may be the best so far."""
        self._subdigraphs.update(page, self._graph.mutual(page))


# The ways that links take through redirects: where one meets another, the rest is the same.
#
# With several in flight, a link may redirect to another link, or two of them to an address that
# neither is. Only one goes on from there; for the other, what that one finds is as good.

MAX_REDIRECTS = 20  # as Scrapy has it, and browsers


@dataclass(frozen=True, slots=True)
class Meeting:
    """An address on the way of a link, and the number of redirects that led there."""

    rank: int
    hops: int


class RedirectWays:
    """Where links were asked for, where their redirects led, and what they found at the end.

    *final* are the addresses whose pages are known; they may grow. Links go by their ranks.
    """

    def __init__(self, final: Container[str], max_redirects: int) -> None:
        self.answers: dict[int, Answer] = {}
        self.shared: set[str] = set()  # links whose answer served another link, too
        self._final = final
        self._max_redirects = max_redirects
        self._starts: dict[str, int] = {}  # links that were asked for, by identity
        self._hops: defaultdict[int, int] = defaultdict(int)  # of each link
        self._heading: dict[int, str] = {}  # where the redirects of links in flight led last
        self._passed: dict[str, Meeting] = {}
        self._alone: set[int] = set()  # links that go all the way by themselves

    def start(self, rank: int, identity: str) -> None:
        """Note that a link is requested."""
        self._starts[identity] = rank

    def follow(self, rank: int, identity: str) -> None:
        """Note that a link is followed to its redirect."""
        self._hops[rank] += 1
        self._heading[rank] = identity
        if not self._is_passed(identity):
            self._passed[identity] = Meeting(rank, self._hops[rank])

    def end(self, rank: int) -> None:
        """Note that a link is taken into account."""
        self._heading.pop(rank, None)

    def is_ahead(self, identity: str) -> bool:
        """Whether a link in flight was redirected to this address last."""
        return identity in self._heading.values()

    def knows(self, identity: str, rank: int) -> bool:
        """Whether the answer of an address is known, or awaited for another link than this one."""
        return (
            identity in self._final
            or self._starts.get(identity, rank) != rank
            or (rank not in self._alone and self._is_passed(identity, but_not_by=rank))
        )

    def answer_of(self, rank: int, identity: str) -> Answer | None:
        """What a link gave, by way of those that it met; None while that is not known.

        A redirect to an address that is not a final one: the link is to be asked for again.
        """
        first = answer = self.answers.get(rank)
        hops, passed = self._hops[rank], {identity}
        may_be_shorter = False
        while isinstance(answer, Redirect):
            hops += 1
            if answer.identity in self._final:
                break
            met = self._meeting(answer.identity)
            if met is None or answer.identity in passed:
                return NoPage(BAD_RESPONSE)  # round in a circle
            passed.add(answer.identity)
            may_be_shorter = hops < met.hops
            hops += self._hops[met.rank] - met.hops
            answer = self.answers.get(met.rank)
        if answer is None:
            return None
        reason = answer.reason if isinstance(answer, NoPage) else ""
        if reason == BAD_RESPONSE and may_be_shorter:
            # It may have had too many redirects, and this link has had fewer.
            del self.answers[rank], self._hops[rank], self._starts[identity]
            self._alone.add(rank)
            return first
        self.shared |= passed & self._starts.keys() - {identity}
        if reason == OFFSITE_REDIRECT:
            hops += 1  # one more, although it is not requested
        if answer is not first and hops > self._max_redirects:
            return NoPage(BAD_RESPONSE)
        return answer

    def _is_passed(self, identity: str, but_not_by: int = 0) -> bool:
        """Whether the redirects of a link that is still in flight led there."""
        meeting = self._passed.get(identity)
        return meeting is not None and meeting.rank in self._heading and meeting.rank != but_not_by

    def _meeting(self, identity: str) -> Meeting | None:
        if identity in self._starts:
            return Meeting(self._starts[identity], 0)
        return self._passed.get(identity)


class SubdigraphSearch(Exploration):
    """The search from one key page, through its links in the order of a strategy.

    Without a strategy, the links are taken up in the order they are given. *is_absent* tells of
    addresses that a source has nothing of, where it knows that without loading them.
    :meth:`take` gives links to load, no more at a time than may be in flight; :meth:`tell`
    takes the answer to one. Whatever the order of the answers, they are taken into account by
    rank, so that the result does not depend on it.
    """

    complete_reason = COMPLETE

    def __init__(
        self,
        key_page: Page,
        links: Iterable[Address],
        *,
        strategy: Callable[[Sequence[Any], SubdigraphSearch], Iterator[Address]] | None = None,
        size: int = 3,
        max_loads: int = 100,
        max_refusals: int = MAX_REFUSALS,
        in_flight: int = 1,
        max_redirects: int = MAX_REDIRECTS,
        max_nodes: int = MAX_SEARCH_NODES,
        is_absent: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(key_page, size, max_nodes)
        self.max_loads = max_loads
        self.max_refusals = max_refusals
        self.refusals: list[str] = []  # the last links in a row that were refused, by reason
        self.in_flight = in_flight
        self.reason = ""  # why the search ended
        self.ways = RedirectWays(self, max_redirects)
        self._links = strategy(list(links), self) if strategy else iter(links)
        self._is_absent = is_absent or (lambda _: False)
        self._next: Address | None = None  # asked of the strategy, and not taken up yet
        self._asked = 1  # pages that were asked for, whether or not they count as loads
        self._waiting: list[Visit] = []  # handed out, not yet taken into account, by rank
        self._fresh: list[Visit] = []  # taken up, not yet handed out
        self._held: set[int] = set()  # links not asked for before their turn comes

    @property
    def room(self) -> int:
        """How many links may be in flight."""
        return self.in_flight

    @property
    def wasted(self) -> int:
        """Pages that were asked for and not taken into account."""
        return self._asked - self.loads - len(self._held) - len(self._fresh)

    @property
    def pending(self) -> list[Visit]:
        """Links in flight, whose answers are not known yet."""
        known = self.ways.answers.keys() | self._held
        return [visit for visit in self._waiting if visit.rank not in known]

    def take(self) -> list[Visit]:
        """The links to load now; none if enough are in flight, or the search has ended."""
        self._fill()
        self._settle()
        if self.reason:
            return []
        taken, self._fresh = self._fresh, []
        if self._waiting and self._waiting[0].rank in self._held:  # its turn has come
            self._held.remove(self._waiting[0].rank)
            self.ways.start(self._waiting[0].rank, self._waiting[0].link.identity)
            taken.insert(0, self._waiting[0])
        return taken

    def tell(self, rank: int, answer: Answer) -> None:
        """Take in the answer to a link.

        A Redirect is the answer only if it leads to an address that the *ways* know.
        """
        if self.reason or all(visit.rank != rank for visit in self.pending):
            return
        self.ways.answers[rank] = answer
        self._settle()

    def stop(self, reason: str) -> None:
        """End the search from outside: the best CS so far is the answer."""
        self.reason = self.reason or reason

    def _fill(self) -> None:
        """Take up links, as many as may be in flight."""
        while not self.reason and len(self._waiting) < self.room:
            self._next = link = self._next or next(self._links, None)
            # A link that there is nothing of would be free, but when the budget is spent a search
            # ends there all the same: as it did in the crawl that has left it out.
            if link is None or (link.identity not in self and self._is_spent()):
                if not self._waiting:
                    self.reason = LINKS_EXHAUSTED if link is None else MAX_LOADS
                break
            self._next = None
            self._take_up(Visit(len(self.visits) + len(self._waiting) + 1, link, link.url))

    def _take_up(self, visit: Visit) -> None:
        self._waiting.append(visit)
        if visit.link.identity in self:
            self.ways.answers[visit.rank] = _itself(visit.link)
            return
        if self._is_absent(visit.link.url):
            visit.is_absent = True
            self.ways.answers[visit.rank] = NoPage(NOT_ARCHIVED)
            return
        self._asked += 1
        if self.ways.is_ahead(visit.link.identity):
            self._held.add(visit.rank)
        else:
            self.ways.start(visit.rank, visit.link.identity)
            self._fresh.append(visit)

    def _is_spent(self) -> bool:
        # With nothing in flight, what was asked for in vain must not change the answer.
        asked = self._asked if self._waiting else self.loads
        return bool(self.max_loads) and asked >= self.max_loads

    def _settle(self) -> None:
        """Take answers into account, as far as they are known by rank."""
        while self._waiting and not self.reason:
            answer = self._answer_of(self._waiting[0])
            if answer is None:
                break
            self._account_next(self._waiting.pop(0), answer)
            # At once: a strategy goes by what is taken into account, and how many answers come
            # together is a matter of timing.
            self._fill()

    def _answer_of(self, visit: Visit) -> Answer | None:
        """What a link gave; None while that is not known."""
        if visit.rank in self._held:
            return _itself(visit.link) if visit.link.identity in self else None
        answer = self.ways.answer_of(visit.rank, visit.link.identity)
        if isinstance(answer, Redirect) and answer.identity not in self:
            self._held.add(visit.rank)
            return None
        return answer

    def _account_next(self, visit: Visit, answer: Answer) -> None:
        self.ways.end(visit.rank)
        if visit.link.identity in self and (
            visit.link.identity in self.ways.shared or visit.rank in self._held
        ):
            self._asked -= 1  # it was not a page of its own, but the end of another's redirects
        self._held.discard(visit.rank)
        self.account(visit, answer)
        self._count_refusals(visit)
        if self.complete:
            self.reason = self.complete_reason

    def _count_refusals(self, visit: Visit) -> None:
        """End the search when a site refuses link after link for the same reason.

        Duplicates, and links known without a load, neither count nor break the row.
        """
        if visit.duplicate_of or visit.is_absent:
            return
        if visit.reason not in REFUSALS or visit.reason not in self.refusals:
            self.refusals = []
        if visit.reason in REFUSALS:
            self.refusals.append(visit.reason)
            if len(self.refusals) == self.max_refusals:
                self.reason = REFUSED


def _itself(link: Address) -> Redirect:
    """The answer of a link whose own address is known: it is not loaded."""
    return Redirect(link.url, link.identity)

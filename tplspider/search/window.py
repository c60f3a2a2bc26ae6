"""The search for an n-CS (Algorithm 2), without any input or output.

Whoever drives it asks for links to load and tells what became of each; the search says which link
is next, what the best CS is, and when it is over. A crawl, a test on plain dicts and an offline run
over saved pages drive the same object.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tplspider.search.complete_subdigraph import MAX_SEARCH_NODES, CompleteSubdigraphs
from tplspider.search.link_graph import Connections
from tplspider.search.redirect_ways import RedirectWays
from tplspider.web.addresses import Address
from tplspider.web.page import Page

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

COMPLETE = "complete_subdigraph"
LINKS_EXHAUSTED = "links_exhausted"
MAX_LOADS = "max_loads"

_KEY_PAGE = -1


@dataclass(slots=True)
class Visit:
    """A link that was taken up, and what became of it."""

    rank: int
    link: Address
    url: str
    outcome: Literal["page", "duplicate", "none"] = "none"
    reason: str = ""
    page: Page | None = None


class SubdigraphSearch:
    """The search from one key page, through its links in the order of a strategy.

    Without a strategy, the links are taken up in the order they are given.
    :meth:`take` hands out links to load, no more at a time than may be in flight; :meth:`tell`
    takes what became of one. Whatever the order of the answers, they are taken into account by
    rank, so that the result does not depend on it.
    """

    def __init__(
        self,
        key_page: Page,
        links: Iterable[Address],
        *,
        strategy: Callable[[Sequence[Any], SubdigraphSearch], Iterator[Address]] | None = None,
        size: int = 3,
        max_loads: int = 100,
        in_flight: int = 1,
        max_redirects: int = 20,
        max_nodes: int = MAX_SEARCH_NODES,
    ) -> None:
        self.key_page = key_page
        self.size = size
        self.max_loads = max_loads
        self.in_flight = in_flight
        self.loads = 1  # the key page
        self.reason = ""  # why the search is over
        self.visits: list[Visit] = []  # links taken into account, by rank
        self._links = strategy(list(links), self) if strategy else iter(links)
        self._next: Address | None = None  # asked of the strategy, and not taken up yet
        self._asked = 1  # pages that were asked for, whether or not they count as loads
        self._waiting: list[Visit] = []  # handed out, not yet taken into account, by rank
        self._fresh: list[Visit] = []  # taken up, not yet handed out
        self._held: set[int] = set()  # links not asked for before their turn comes
        self._pages: list[Visit] = []  # explored pages, by number
        self._final = {key_page.identity: _KEY_PAGE}
        self._ways = RedirectWays(self._final, max_redirects)
        self._texts = {key_page.fingerprint: _KEY_PAGE} if key_page.fingerprint else {}
        self._connections = Connections()
        self._subdigraphs = CompleteSubdigraphs(size, max_nodes)

    @property
    def members(self) -> list[Visit]:
        """The pages of the best CS so far, by rank."""
        return [self._pages[page] for page in self._subdigraphs.best]

    @property
    def complete(self) -> bool:
        """Whether an n-CS was found."""
        return self._subdigraphs.complete

    @property
    def bounded(self) -> bool:
        """Whether a step of the search for the largest CS gave up."""
        return self._subdigraphs.bounded

    @property
    def wasted(self) -> int:
        """Pages that were asked for and not taken into account."""
        return self._asked - self.loads - len(self._held) - len(self._fresh)

    @property
    def pending(self) -> list[Visit]:
        """Links handed out that nobody has told about yet."""
        told = self._ways.answers.keys() | self._held
        return [visit for visit in self._waiting if visit.rank not in told]

    def missing_links(self, visit: Visit) -> Iterator[tuple[int, int]]:
        """The links that keep an explored page out of the best CS, from one rank to another.

        They come by the rank of the member; there are none for a member, or what is not a page.
        """
        if visit.page is None:
            return
        page = self._final[visit.page.identity]
        for member in self._subdigraphs.best:
            for source, target in ((page, member), (member, page)):
                if source != target and not self._connections.links(source, target):
                    yield self._pages[source].rank, self._pages[target].rank

    def take(self) -> list[Visit]:
        """The links to load now; none when all that may be in flight are, or the search is over."""
        self._fill()
        self._settle()
        if self.reason:
            return []
        taken, self._fresh = self._fresh, []
        if self._waiting and self._waiting[0].rank in self._held:  # its turn has come
            self._held.remove(self._waiting[0].rank)
            self._ways.start(self._waiting[0].rank, self._waiting[0].link.identity)
            taken.insert(0, self._waiting[0])
        return taken

    def tell(self, rank: int, answer: Page | Address | str) -> None:
        """Take in what a link gave: a page, or the reason why there is none.

        An address means that the link redirects there, which need not be followed where the
        search :meth:`knows` it.
        """
        if self.reason or all(visit.rank != rank for visit in self.pending):
            return
        self._ways.answers[rank] = answer
        self._settle()

    def _settle(self) -> None:
        """Take answers into account, as far as they are known by rank."""
        while self._waiting and not self.reason:
            found = self._answer_of(self._waiting[0])
            if found is None:
                break
            self._account(self._waiting.pop(0), found)
            # At once: a strategy goes by what is taken into account, and how many answers come
            # together is a matter of timing.
            self._fill()

    def _fill(self) -> None:
        """Take up links, as many as may be in flight."""
        while not self.reason and len(self._waiting) < self.in_flight:
            self._next = link = self._next or next(self._links, None)
            if link is None or (link.identity not in self._final and self._is_spent()):
                if not self._waiting:
                    self.reason = LINKS_EXHAUSTED if link is None else MAX_LOADS
                break
            visit = Visit(len(self.visits) + len(self._waiting) + 1, link, link.url)
            self._waiting.append(visit)
            self._next = None
            if link.identity in self._final:
                self._ways.answers[visit.rank] = ""  # known without being loaded
            else:
                self._asked += 1
                if self._ways.is_ahead(link.identity):
                    self._held.add(visit.rank)
                else:
                    self._ways.start(visit.rank, link.identity)
                    self._fresh.append(visit)

    def knows(self, identity: str, rank: int) -> bool:
        """Whether what an address gives is known, or under way for another link than this one."""
        return self._ways.knows(identity, rank)

    def follow(self, rank: int, identity: str) -> None:
        """A link redirects to an address that is not known, and that is where it goes."""
        self._ways.follow(rank, identity)

    def stop(self, reason: str) -> None:
        """End the search from outside: the best CS so far is the answer."""
        self.reason = self.reason or reason

    def _is_spent(self) -> bool:
        # With nothing in flight, what was asked for in vain must not change the answer.
        asked = self._asked if self._waiting else self.loads
        return bool(self.max_loads) and asked >= self.max_loads

    def _answer_of(self, visit: Visit) -> Page | Address | str | None:
        """What a link gave; None while that is not known."""
        if visit.rank in self._held:
            return "" if visit.link.identity in self._final else None
        answer = self._ways.answer_of(visit.rank, visit.link.identity)
        if isinstance(answer, Address) and answer.identity not in self._final:
            self._held.add(visit.rank)
            return None
        return answer

    def _account(self, visit: Visit, answer: Page | Address | str) -> None:
        self.visits.append(visit)
        self._ways.end(visit.rank)
        known = self._final.get(visit.link.identity)
        if known is not None:
            if visit.link.identity in self._ways.shared or visit.rank in self._held:
                self._asked -= 1  # it was no page of its own, but the end of another's redirects
            self._held.discard(visit.rank)
            self._account_duplicate(visit, known)
            return
        self.loads += 1
        if isinstance(answer, str):
            visit.reason = answer
            return
        visit.url = answer.url
        original = self._final.get(answer.identity)
        if isinstance(answer, Page):
            if original is None and answer.fingerprint:
                original = self._texts.get(answer.fingerprint)
            if original is None:
                self._account_page(visit, answer)
                return
            self._final.setdefault(answer.identity, original)
        assert original is not None
        self._account_duplicate(visit, original, answer.identity)

    def _account_page(self, visit: Visit, page: Page) -> None:
        visit.outcome = "page"
        visit.page = page
        self._pages.append(visit)
        number = self._connections.add_page({visit.link.identity, page.identity}, page.links)
        self._final[page.identity] = number
        if page.fingerprint:
            self._texts[page.fingerprint] = number
        self._step(number)

    def _account_duplicate(self, visit: Visit, original: int, *names: str) -> None:
        visit.outcome = "duplicate"
        if original == _KEY_PAGE:
            visit.reason = "key-page"
            return
        visit.reason = f"duplicate-of {self._pages[original].url}"
        self._connections.add_names(original, (visit.link.identity, *names))
        self._step(original)

    def _step(self, page: int) -> None:
        self._subdigraphs.update(page, self._connections.mutual(page))
        if self.complete:
            self.reason = COMPLETE

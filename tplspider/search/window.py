"""The search with a window: Algorithm 2, with several links in flight at a time.

Whoever drives it asks for links to load and tells what became of each; the search says which link
is next, what the best CS is, and when it is over. A crawl, a test on plain dicts and an offline run
over saved pages drive the same object, which does no input or output.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tplspider.search.algorithm import Exploration, Visit
from tplspider.search.complete_subdigraph import MAX_SEARCH_NODES
from tplspider.search.ends import COMPLETE, LINKS_EXHAUSTED, MAX_LOADS
from tplspider.search.redirect_ways import MAX_REDIRECTS, RedirectWays
from tplspider.web.page import NOT_ARCHIVED, Answer, NoPage, Page, Redirect

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from tplspider.web.addresses import Address


class SubdigraphSearch(Exploration):
    """The search from one key page, through its links in the order of a strategy.

    Without a strategy, the links are taken up in the order they are given. *is_absent* tells of
    addresses that a source has nothing of, where it knows that without loading them.
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
        max_redirects: int = MAX_REDIRECTS,
        max_nodes: int = MAX_SEARCH_NODES,
        is_absent: Callable[[str], bool] | None = None,
    ) -> None:
        super().__init__(key_page, size, max_nodes)
        self.max_loads = max_loads
        self.in_flight = in_flight
        self.reason = ""  # why the search is over
        self.ways = RedirectWays(self, max_redirects)
        self._links = strategy(list(links), self) if strategy else iter(links)
        self._is_absent = is_absent or (lambda _: False)
        self._next: Address | None = None  # asked of the strategy, and not taken up yet
        self._asked = 1  # pages that were asked for, whether or not they count as loads
        self._waiting: list[Visit] = []  # handed out, not yet taken into account, by rank
        self._fresh: list[Visit] = []  # taken up, not yet handed out
        self._held: set[int] = set()  # links not asked for before their turn comes

    @property
    def wasted(self) -> int:
        """Pages that were asked for and not taken into account."""
        return self._asked - self.loads - len(self._held) - len(self._fresh)

    @property
    def pending(self) -> list[Visit]:
        """Links handed out that nobody has told about yet."""
        told = self.ways.answers.keys() | self._held
        return [visit for visit in self._waiting if visit.rank not in told]

    def take(self) -> list[Visit]:
        """The links to load now; none when all that may be in flight are, or the search is over."""
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
        """Take in what a link gave.

        A redirect is for where it leads to an address that its *ways* know.
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
        while not self.reason and len(self._waiting) < self.in_flight:
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
        if self.complete:
            self.reason = COMPLETE


def _itself(link: Address) -> Redirect:
    """The answer of a link whose own address is known: it is not loaded."""
    return Redirect(link.url, link.identity)

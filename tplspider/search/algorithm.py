"""Algorithm 2: links taken into account one after the other, until an n-CS is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tplspider.search.complete_subdigraph import MAX_SEARCH_NODES, CompleteSubdigraphs, members
from tplspider.search.link_graph import LinkGraph
from tplspider.web.page import Answer, NoPage, Page, Redirect

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tplspider.web.addresses import Address

_KEY_PAGE = -1  # its number; those of explored pages start from 0


@dataclass(slots=True)
class Visit:
    """A link that was taken up, and what became of it: one of the last three, once it is known."""

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
        """What became of the link, in the word that users read."""
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
    def complete(self) -> bool:
        """Whether an n-CS was found."""
        return self._subdigraphs.complete

    @property
    def bounded(self) -> bool:
        """Whether a step of the search for the largest CS gave up."""
        return self._subdigraphs.bounded

    def __contains__(self, identity: object) -> bool:
        """Whether this is the final address of a page that is known: no need to load it."""
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

        A link to a known address is a duplicate, whatever the answer is, and is not a load. Nor is
        one that there is nothing of.
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

"""One key page and the search from it, from the request for the key page to the answer."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from importlib import import_module
from typing import TYPE_CHECKING, Literal

from tplspider.search.answer import (
    candidates,
    joined,
    key_page_fault_hint,
    key_page_hint,
    outcome_hint,
    summary,
    unanswered,
)
from tplspider.search.cliques import (
    KEY_PAGE_UNUSABLE,
    MAX_REDIRECTS,
    MAX_REFUSALS,
    MAX_SEARCH_NODES,
    SubdigraphSearch,
    Visit,
)
from tplspider.search.guided import guided_order
from tplspider.search.kinds import KINDS, KindSearch, kinds_order
from tplspider.search.sort_links import paper_order
from tplspider.search.witness import WITNESS, find_witness, is_settled, settle
from tplspider.web.addresses import SCOPES, Address, Site, identity
from tplspider.web.html import Link, get_links, parse_html
from tplspider.web.page import (
    ERROR,
    NO_LINKS,
    NOT_LOADED,
    OFFSITE_REDIRECT,
    TOO_LONG,
    Answer,
    NoPage,
    Page,
    Redirect,
    WebPage,
    page_fault,
    read_page,
    redirect_to,
)

if TYPE_CHECKING:
    from tplspider.items import CandidateSearch, TemplateCandidate


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """What the user asks for: the answer depends on it."""

    n: int = 3
    strategy: str = "paper"
    scope: str = "host"
    max_loads: int = 100
    max_seconds: float = 0
    witness: int = 1  # pages that may be loaded on top, for the template
    max_refusals: int = MAX_REFUSALS  # links in a row that a site may refuse; 0 for no limit

    def __post_init__(self) -> None:
        if not isinstance(self.n, int) or self.n < 1:
            raise ValueError(f"n={self.n!r}: expected a whole number, 1 or more")
        if self.scope not in SCOPES:
            raise ValueError(f"scope={self.scope!r}: expected one of {', '.join(SCOPES)}")


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """What the search may use, and what its driver can do.

    An address of more than *longest_url* characters is not requested (0 for no limit).
    *runs_scripts* tells whether pages come as a browser shows them, *for_template* whether the
    template of the key page is going to be extracted. *is_absent* tells of addresses that nothing
    is to be had of, where that is known without loading them.
    """

    in_flight: int = 1
    max_redirects: int = MAX_REDIRECTS
    max_nodes: int = MAX_SEARCH_NODES
    longest_url: int = 0
    runs_scripts: bool = False
    for_template: bool = False
    is_absent: Callable[[str], bool] | None = None

    def __post_init__(self) -> None:
        if self.in_flight < 1:
            raise ValueError(f"in_flight={self.in_flight!r}: expected a whole number, 1 or more")


def search_id(url: str, options: SearchOptions) -> str:
    """A name for the search from the (cleaned) address of a key page, the same everywhere.

    Options that have their defaults play no part, so one that is added later changes no name.

    >>> search_id("https://example.org/", SearchOptions())
    '4adea0b0ce52ff65'
    """
    defaults = asdict(SearchOptions())
    chosen = {
        name: float(value) if name == "max_seconds" else value
        for name, value in sorted(asdict(options).items())
        if value != defaults[name]
    }
    text = json.dumps([url, chosen], separators=(",", ":"))
    return blake2b(text.encode(), digest_size=8).hexdigest()


Reader = Callable[[WebPage, Site, SearchLimits], Page | NoPage]


def read_web_page(page: WebPage, site: Site, limits: SearchLimits) -> Page | NoPage:
    """A page of *site*, or why it is not one. Its tree is not kept: it would be a burden."""
    if identity(page.url) not in site:
        return NoPage(OFFSITE_REDIRECT)
    if fault := page_fault(page):
        return NoPage(fault)
    root, for_template = parse_html(page.text), limits.for_template
    return read_page(root, page.url, site, page.encoding, for_template=for_template)


# A strategy is given the links of the key page in document order and the search, and yields every
# link once. It is asked for a link when the search can take one up, so it can go by what the search
# knows by then: its visits, its members, its key page.
Strategy = Callable[[Sequence[Link], SubdigraphSearch], Iterator[Address]]

STRATEGIES: dict[str, Strategy] = {
    "guided": guided_order,
    KINDS: kinds_order,
    "paper": paper_order,
}


def strategy_named(name: str) -> Strategy:
    """The strategy of that name, or at that place (``package.module:function``).

    Raises ValueError if there is none.
    """
    if name in STRATEGIES:
        return STRATEGIES[name]
    module, colon, function = name.partition(":")
    try:
        found = getattr(import_module(module), function) if colon else None
    except Exception as error:  # importing runs the module
        raise ValueError(f"strategy: {module} cannot be imported: {error}") from error
    if not callable(found):
        expected = f"{', '.join(STRATEGIES)}, or package.module:function"
        raise ValueError(f"strategy: expected {expected}")  # noqa: TRY004 - of an argument
    strategy: Strategy = found
    return strategy


@dataclass(frozen=True, slots=True)
class SearchStarted:
    """The key page was read and has that many links, and addresses that cannot be parsed."""

    session: SearchSession
    links: int
    unparsable: int


@dataclass(frozen=True, slots=True)
class LinkSettled:
    """A link was taken into account."""

    session: SearchSession
    visit: Visit


@dataclass(frozen=True, slots=True)
class SearchEnded:
    """The search has ended, with this summary."""

    session: SearchSession
    summary: CandidateSearch


Event = SearchStarted | LinkSettled | SearchEnded
Listener = Callable[[Event], object]


logger = logging.getLogger(__name__)


class SearchSession:
    """A search and all that belongs to it. Its driver loads pages, and nothing else.

    It waits for its key page (:meth:`open`, or :meth:`fail`), runs while links are loaded
    (:meth:`take`, :meth:`tell`), and has ended when there is an answer: its *summary*.

    *order* is a strategy in place of that of the options; *reader* may know pages already.
    """

    def __init__(
        self,
        url: str,
        options: SearchOptions | None = None,
        limits: SearchLimits | None = None,
        *,
        requested_url: str = "",
        listener: Listener | None = None,
        order: Strategy | None = None,
        reader: Reader = read_web_page,
    ) -> None:
        self.url = url  # the address of the key page, as it is requested
        self.requested_url = requested_url or url
        self.options = options or SearchOptions()
        self.limits = limits or SearchLimits()
        self.search_id = search_id(url, self.options)
        self.search: SubdigraphSearch | None = None  # once the key page has come
        self.summary: CandidateSearch | None = None  # once it has ended
        self.witness: Visit | None = None  # what was loaded for the template alone
        self.links = 0  # on the key page
        self.hint = ""
        self._listener = listener
        self._order = order or strategy_named(self.options.strategy)
        self._by_kind = self._order is kinds_order
        if self._by_kind:  # links of loaded pages are requested as they are written there
            self.limits = replace(self.limits, for_template=True)
        self.reader = reader
        self._site: Site | None = None
        self._announced = 0  # links that the listener knows of
        self._wants_witness = (
            self.options.witness > 0 and self.limits.for_template and not self._by_kind
        )
        self._fresh_witness: list[Visit] = []  # not handed out yet
        self._of_key_page: list[Link] = []

    @property
    def phase(self) -> Literal["waiting", "running", "over"]:
        """Whether it waits for its key page, runs, or has ended."""
        if self.summary:
            return "over"
        return "running" if self.search else "waiting"

    @property
    def key_url(self) -> str:
        """The address of the key page: where its redirects ended, once that is known."""
        return self.search.key_page.url if self.search else self.url

    @property
    def awaited(self) -> list[int | None]:
        """The ranks of links in flight; None for the key page.

        Once the search itself has ended, nothing is awaited but a witness.
        """
        if not self.search or self.phase != "running":
            return [None] if self.phase == "waiting" else []
        if self.witness:
            return [WITNESS]
        return [visit.rank for visit in self.search.pending]

    def open(self, page: WebPage) -> None:
        """Take in the key page, or what came in its place: the search starts, or ends."""
        if self.phase != "waiting":
            return
        if fault := page_fault(page):
            self.fail(NoPage(fault, key_page_fault_hint(page, fault)), page.url)
            return
        try:
            self._start(page)
        except Exception:
            logger.exception("The key page %s cannot be read", page.url)
            self.fail(NoPage(ERROR), page.url)
        else:
            if not self.links:
                self.fail(NoPage(NO_LINKS, self.hint), page.url)

    def fail(self, answer: NoPage, url: str = "") -> None:
        """The key page cannot be used: the search ends."""
        if self.phase != "over":
            self._end_unused(url or self.url, answer.reason, KEY_PAGE_UNUSABLE, answer.detail)

    def take(self) -> list[Visit]:
        """The links to load now; none if enough are in flight, or the search has ended."""
        wanted: list[Visit] = []
        while self.search and self.phase == "running" and not wanted:
            taken = self.search.take()
            self._announce()
            taken, self._fresh_witness = [*taken, *self._fresh_witness], []
            if not taken:
                break
            for visit in taken:
                if 0 < self.limits.longest_url < len(visit.link.url):
                    self.tell(visit.rank, NoPage(TOO_LONG))
                else:
                    wanted.append(visit)
        return wanted

    def read(self, page: WebPage) -> Page | NoPage:
        """What the search takes a loaded page for."""
        if not self._site:
            return NoPage(ERROR)
        try:
            return self.reader(page, self._site, self.limits)
        except Exception:
            logger.exception("The page %s cannot be read", page.url)
            return NoPage(ERROR)

    def take_in(self, rank: int | None, page: WebPage) -> Page | None:
        """Read and take in the answer to a link, or to the key page (None); the page, if any."""
        if rank is None:
            self.open(page)
            return self.search.key_page if self.search else None
        answer = self.read(page)
        self.tell(rank, answer)
        return answer if isinstance(answer, Page) else None

    def judge(self, rank: int, target: str) -> NoPage | Redirect | None:
        """The answer to a link that redirects to *target*; None if it is to be followed there."""
        if not self.search or not self._site:
            return None
        redirect = redirect_to(target)
        if redirect.identity not in self._site:
            return NoPage(OFFSITE_REDIRECT)
        if rank == WITNESS:
            return redirect if redirect.identity in self.search else None
        return redirect if self.search.ways.knows(redirect.identity, rank) else None

    def follow(self, rank: int, target: str) -> None:
        """A link is followed to where it redirects."""
        if self.search and rank != WITNESS:
            self.search.ways.follow(rank, identity(target))

    def tell(self, rank: int | None, answer: Answer, url: str = "") -> None:
        """Take in the answer to a link; or why the key page (None) gave no page, at *url*."""
        if rank is None and isinstance(answer, NoPage):
            self.fail(answer, url)
        elif rank is not None and self.search and self.phase == "running":
            if rank != WITNESS:
                self.search.tell(rank, answer)
            elif self.witness:
                settle(self.witness, self.search, answer)
            self._announce()

    def candidates(self) -> list[TemplateCandidate]:
        """The pages of the best complete subdigraph, in the order they were explored."""
        search = self.search
        return [*candidates(search, self.search_id, self.requested_url)] if search else []

    def stop(self, reason: str) -> None:
        """End the search for that reason: what was found so far is the answer."""
        if self.phase == "waiting":
            self._end_unused(self.url, NOT_LOADED, reason)
        elif self.search and self.phase == "running":
            self._wants_witness = False
            if self.witness:
                settle(self.witness, self.search, NoPage(NOT_LOADED))
            self.search.stop(reason)
            self._announce()

    def _start(self, page: WebPage) -> None:
        root = parse_html(page.text)
        unparsable: list[str] = []
        self._site = site = Site(identity(page.url), self.options.scope)
        links = get_links(root, page.url, site, page.encoding, unparsable)
        self.links = len(links)
        self.hint = key_page_hint(
            root, page, site, self.links, runs_scripts=self.limits.runs_scripts
        )
        self._of_key_page = links if self._wants_witness else []
        for_template = self.limits.for_template
        key_page = read_page(root, page.url, site, page.encoding, for_template=for_template)
        search_class = KindSearch if self._by_kind else SubdigraphSearch
        self.search = search_class(
            key_page,
            links,
            strategy=self._order,
            size=self.options.n,
            max_loads=self.options.max_loads,
            max_refusals=self.options.max_refusals,
            in_flight=self.limits.in_flight,
            max_redirects=self.limits.max_redirects,
            max_nodes=self.limits.max_nodes,
            is_absent=self.limits.is_absent,
        )
        self._tell(SearchStarted(self, self.links, len(unparsable)))

    def _announce(self) -> None:
        """Let the listener know of links that were taken into account, and of the end."""
        if not self.search:
            return
        visits = self.search.visits
        while self._announced < len(visits):  # a listener may stop the search
            self._announced += 1
            self._tell(LinkSettled(self, visits[self._announced - 1]))
        if not self.search.reason or self.phase != "running":
            return
        if self._wants_witness:
            self._wants_witness = False
            self.witness = find_witness(self.search, self._of_key_page, self.limits.is_absent)
            self._fresh_witness = [self.witness] if self.witness else []
        if self.witness is None or is_settled(self.witness):
            self._end(
                summary(
                    self.search,
                    self.search_id,
                    self.requested_url,
                    links=self.links,
                    hint=self.hint,
                    witness=self.witness,
                )
            )

    def _end_unused(self, key_url: str, outcome: str, reason: str, hint: str = "") -> None:
        """End a search that could not start, because of what its key page gave."""
        assumed = outcome_hint(outcome, self.requested_url)
        end = unanswered(self.requested_url, outcome, joined(hint, assumed), self.search_id)
        size = self.options.n
        self._end(replace(end, key_url=key_url, requested_size=size, reason=reason, loads=1))

    def _end(self, end: CandidateSearch) -> None:
        self.summary = end
        self._tell(SearchEnded(self, end))

    def _tell(self, event: Event) -> None:
        if self._listener:
            self._listener(event)

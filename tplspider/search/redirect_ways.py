"""The ways that links take through redirects: where one meets another, the rest is the same.

With several in flight, a link may redirect to another link, or two of them to an address that
neither is. Only one goes on from there; for the other, what that one finds is as good.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tplspider.web.page import BAD_RESPONSE, OFFSITE_REDIRECT, Answer, NoPage, Redirect

if TYPE_CHECKING:
    from collections.abc import Container


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
        self._heading: dict[int, str] = {}  # where the redirects of links under way led last
        self._passed: dict[str, Meeting] = {}
        self._alone: set[int] = set()  # links that go all the way by themselves

    def start(self, rank: int, identity: str) -> None:
        """A link is asked for."""
        self._starts[identity] = rank

    def follow(self, rank: int, identity: str) -> None:
        """A link goes where it is redirected to."""
        self._hops[rank] += 1
        self._heading[rank] = identity
        if not self._is_passed(identity):
            self._passed[identity] = Meeting(rank, self._hops[rank])

    def end(self, rank: int) -> None:
        """A link is taken into account."""
        self._heading.pop(rank, None)

    def is_ahead(self, identity: str) -> bool:
        """Whether a link under way was redirected to this address last."""
        return identity in self._heading.values()

    def knows(self, identity: str, rank: int) -> bool:
        """Whether what an address gives is known, or under way for another link than this one."""
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
            hops += 1  # one more, although nobody goes there
        if answer is not first and hops > self._max_redirects:
            return NoPage(BAD_RESPONSE)
        return answer

    def _is_passed(self, identity: str, but_not_by: int = 0) -> bool:
        """Whether the redirects of a link that is still under way led there."""
        meeting = self._passed.get(identity)
        return meeting is not None and meeting.rank in self._heading and meeting.rank != but_not_by

    def _meeting(self, identity: str) -> Meeting | None:
        if identity in self._starts:
            return Meeting(self._starts[identity], 0)
        return self._passed.get(identity)

"""The keys of a queue in Redis: its stream has its own name, the rest stands beside it."""

from __future__ import annotations

from dataclasses import dataclass

GROUP = "tplspider"  # of consumers: the workers, and the two names below

# Consumers that are nobody: what workers gave back, and what waits for its host.
RETURNED, WAITING = "returned", "waiting"

# Leases are those of a host, whichever queue its key pages come from.
LEASE, PACE, WISH = "tplspider:lease:", "tplspider:pace:", "tplspider:wish:"


@dataclass(frozen=True, slots=True)
class QueueKeys:
    """The keys of the queue *name*."""

    name: str

    @property
    def results(self) -> str:
        """The stream of answers, one entry for each."""
        return f"{self.name}:results"

    @property
    def failed(self) -> str:
        """The hash of the key pages that failed, for another try."""
        return f"{self.name}:failed"

    @property
    def retrying(self) -> str:
        """The hash of those of them that ``retry`` is about to put into the queue."""
        return f"{self.name}:retrying"

    @property
    def facts(self) -> str:
        """The hash of counts, and of what the workers have to agree on."""
        return f"{self.name}:facts"

    @property
    def files(self) -> str:
        """The hash of the lists that were put, and how far each of them came."""
        return f"{self.name}:files"

    @property
    def rate(self) -> str:
        """The hash of the answers in each of the last minutes."""
        return f"{self.name}:rate"

    @property
    def workers(self) -> str:
        """The hash of the workers, with the last sign of life of each."""
        return f"{self.name}:workers"

    @property
    def waiting(self) -> str:
        """The set of hosts that are waited for; that name, ``:`` and a host has the entries."""
        return f"{self.name}:waiting"

    @property
    def types(self) -> dict[str, str]:
        """What each of these keys is in Redis, where it exists."""
        hashes = (self.failed, self.retrying, self.facts, self.files, self.rate, self.workers)
        streams = dict.fromkeys((self.name, self.results), "stream")
        return {**streams, **dict.fromkeys(hashes, "hash"), self.waiting: "set"}

    def waiting_for(self, host: str) -> str:
        """The list of the entries that wait for a host."""
        return f"{self.waiting}:{host}"


def leased_host(host: str) -> str:
    """The name under which a host is leased: ``www.`` makes no difference to who is asked.

    >>> leased_host("www.Example.org.")
    'example.org'
    """
    return host.lower().removesuffix(".").removeprefix("www.")


def lease_keys(host: str) -> tuple[str, str, str]:
    """The keys of the lease of a host, of its pace, and of the wish for its lease."""
    name = leased_host(host)
    return LEASE + name, PACE + name, WISH + name

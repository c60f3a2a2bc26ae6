"""How closely a fleet asks its hosts: ``python -m benchmarks.fleet_politeness [HOSTS [WORKERS]]``.

Key pages of 200 hosts, by 4 workers, one of which is killed at work. A third of the hosts redirect
to one common host, a sixth has every page asked for twice, and a sixth goes by ``www.`` as well.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.polite_fleet import DELAY, polite_key_pages, run_fleet
from tests.support.redis_server import redis_server


def main() -> None:
    """Run the fleet, and print the smallest gaps."""
    given = [int(number) for number in sys.argv[1:]]
    hosts, workers = (*given, *(200, 4)[len(given) :])
    with TemporaryDirectory() as name, redis_server(Path(name)) as redis:
        found = run_fleet(
            *(Path(name), redis, lambda server: polite_key_pages(server, hosts)),
            workers=workers,
            settings={"TPLSPIDER_SEARCHES": "16"},
        )
    print(f"{hosts} hosts, {workers} workers, one killed: {found.seconds:.0f} s")
    print(f"{found.answers} answers, {len(found.sent)} requests, {found.parked} searches put off")
    print(f"{found.handovers} times a host went from one worker to another")
    for name, gaps in (("workers", found.sent_gaps), ("server", found.server_gaps)):
        smallest = ", ".join(f"{gap:.3f} ({host})" for gap, host in gaps[:5])
        print(f"smallest gaps by the clock of the {name}, of {DELAY} s: {smallest}")


if __name__ == "__main__":
    main()

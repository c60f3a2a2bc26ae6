"""A queue that cannot be worked on, and a Redis that goes away: nothing is lost or told twice."""

from __future__ import annotations

from time import sleep
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import run_scrapy
from tests.support.fleets import QUEUE, Fleet
from tests.support.many_sites import ManySites
from tests.support.redis_server import RedisServer, needs_redis, redis_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.crawls import Crawl

pytestmark = [pytest.mark.crawl, needs_redis]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path, durable=True) as found:
        yield found


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[ManySites]:
    with ManySites(tmp_path / "asked.log") as found:
        yield found


def work(folder: Path, address: str, *options: str, **settings: str) -> Crawl:
    return run_scrapy(
        "crawl",
        "template_candidates",
        f"-aqueue={QUEUE}",
        *options,
        folder=folder,
        settings={"TPLSPIDER_QUEUE": address, **settings},
    )


def refusal(crawl: Crawl) -> str:
    """The one line of a worker that was refused."""
    assert crawl.code == 2, crawl.log
    (line,) = crawl.log.splitlines()
    return line


def numbers(fleet: Fleet) -> list[int]:
    return sorted(int(row["input"]["id"]) for row in fleet.summaries())


def test_no_redis_there(tmp_path: Path) -> None:
    nobody = RedisServer(tmp_path)
    line = refusal(work(tmp_path, nobody.url))
    assert line.startswith(f"scrapy crawl: error: the queue at {nobody.url}: ")
    assert "redis://HOST:PORT/0" in refusal(work(tmp_path, "http://127.0.0.1/"))


def test_a_wrong_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with redis_server(tmp_path, "--requirepass", "geheim") as server:
        assert "TPLSPIDER_QUEUE_PASSWORD" in refusal(work(tmp_path, server.url))
        monkeypatch.setenv("TPLSPIDER_QUEUE_PASSWORD", "falsch")
        line = refusal(work(tmp_path, server.url))
        assert "password" in line
        assert "falsch" not in line
        monkeypatch.setenv("TPLSPIDER_QUEUE_PASSWORD", "geheim")
        crawl = work(tmp_path, server.url)
        assert crawl.code == 0, crawl.log
        assert "geheim" not in crawl.log
        line = refusal(work(tmp_path, server.url.replace("//", "//:geheim@")))
        assert "process lists" in line
        assert "geheim" not in line


def test_what_will_not_do(server: RedisServer, tmp_path: Path) -> None:
    """A name that is taken, other options than those in force, a JOBDIR."""
    line = refusal(work(tmp_path, server.url, JOBDIR=str(tmp_path / "job")))
    assert "with JOBDIR" in line
    with Fleet(server, tmp_path) as fleet:
        assert work(tmp_path, server.url, "-an=4").code == 0
        assert work(tmp_path, server.url, "-an=5").code == 0  # nothing is in it, nobody is there
        fleet.put([{"url": "http://127.0.0.1:1/"}])
        assert "n was 5 and is 6" in refusal(work(tmp_path, server.url, "-an=6"))
        fleet.redis.delete(QUEUE)
        fleet.redis.set(QUEUE, "mine")
        assert f"the key {QUEUE} in Redis is a string" in refusal(work(tmp_path, server.url))


def test_redis_hangs_for_a_while(server: RedisServer, sites: ManySites, tmp_path: Path) -> None:
    with Fleet(server, tmp_path, TPLSPIDER_SEARCHES=4) as fleet:
        fleet.put({"id": n, "url": sites.url(f"site-{n}")} for n in range(24))
        workers = [fleet.start(), fleet.start()]
        fleet.until(lambda: fleet.answered > 2)
        server.pause()
        sleep(4)
        server.resume()
        assert [fleet.end_of(worker) for worker in workers] == [0, 0]
        assert numbers(fleet) == [*range(24)]


def test_redis_is_killed_and_comes_back(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    with Fleet(server, tmp_path, TPLSPIDER_SEARCHES=4) as fleet:
        fleet.put({"id": n, "url": sites.url(f"site-{n}")} for n in range(24))
        fleet.put([{"id": 24, "url": sites.url("late-1"), "n": 1}])
        worker = fleet.start()
        fleet.until(lambda: fleet.answered > 2)
        server.kill()
        sleep(2)
        server.start()
        assert fleet.end_of(worker) == 0, fleet.log(worker)
        assert numbers(fleet) == [*range(25)]
        assert fleet.log(worker).count("The queue is away") == 1
        assert "The queue is back" in fleet.log(worker)


def test_redis_stays_away(server: RedisServer, sites: ManySites, tmp_path: Path) -> None:
    with Fleet(server, tmp_path, TPLSPIDER_QUEUE_WAIT=1) as fleet:
        fleet.put([{"id": 0, "url": sites.url("hang-0")}])
        worker = fleet.start()
        fleet.until(fleet.in_work)
        server.kill()
        assert fleet.end_of(worker) == 1
        assert "has been away for" in fleet.log(worker)
        assert "Traceback" not in fleet.log(worker)
        server.start()
        assert fleet.left == 1


def test_no_memory_left(server: RedisServer, sites: ManySites, tmp_path: Path) -> None:
    """What is found is still written, and nothing is taken."""
    with Fleet(server, tmp_path, TPLSPIDER_SEARCHES=1) as fleet:
        fleet.put([{"id": 0, "url": sites.url("late-0"), "n": 1}])
        fleet.put({"id": n, "url": sites.url(f"site-{n}")} for n in (1, 2))
        worker = fleet.start()
        fleet.until(lambda: any(b":lease:" in key for key in fleet.keys))
        fleet.redis.config_set("maxmemory", 1)
        fleet.until(lambda: "no memory left: no key page is taken" in fleet.log(worker))
        assert numbers(fleet) == [0]
        assert not fleet.in_work()
        fleet.redis.config_set("maxmemory", 0)
        assert fleet.end_of(worker) == 0, fleet.log(worker)
        assert numbers(fleet) == [0, 1, 2]
        assert fleet.log(worker).count("no memory left") == 1
        assert "The queue has memory again" in fleet.log(worker)


def test_without_the_client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "redis.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "a queue needs the package redis" in refusal(work(tmp_path, "redis://127.0.0.1:1/0"))

"""Workers that share a queue: each key page is answered once, whoever is killed on the way."""

from __future__ import annotations

import json
import re
import signal
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import run_scrapy
from tests.support.fleets import QUEUE, Fleet
from tests.support.many_sites import ManySites
from tests.support.redis_server import needs_redis, redis_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.redis_server import RedisServer

pytestmark = [pytest.mark.crawl, needs_redis]

# What depends on who else was searched at the time, or on the place in a list.
OF_THE_MOMENT = ("shared", "line", "attempt")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path, durable=True) as found:
        yield found


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[ManySites]:
    with ManySites(tmp_path / "asked.log") as found:
        yield found


def told(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in OF_THE_MOMENT}


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def key_of(row: dict[str, Any]) -> str:
    return str(row["input"]["id"])


def test_one_worker_answers_as_the_crawl_of_a_list_does(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    rows = sites.write_list(tmp_path / "list.jl", 40, 12)
    summary, template, found = (tmp_path / name for name in ("s.jl", "t.jl", "c.jl"))
    crawl = run_scrapy(
        "crawl",
        "template_candidates",
        f"-aurls={tmp_path / 'list.jl'}",
        f"-asummary={summary}",
        f"-atemplate={template}",
        f"-O{found}",
        folder=tmp_path,
    )
    assert crawl.code == 0
    with Fleet(server, tmp_path, TPLSPIDER_TEMPLATE=1) as fleet:
        fleet.put(rows)
        worker = fleet.start()
        assert fleet.end_of(worker) == 0, fleet.log(worker)
        answers = fleet.answers()
        assert fleet.left == 0
        assert not [key for key in fleet.keys if key.startswith(b"tplspider:lease")]
        assert fleet.redis.hlen(f"{QUEUE}:workers") == 0
        assert fleet.redis.hget(f"{QUEUE}:facts", "done") == b"40"
    listed = {key_of(row): told(row) for row in rows_of(summary)}
    assert {key_of(each["summary"]): told(each["summary"]) for each in answers} == listed
    for kind, file in (("candidates", found), ("templates", template)):
        mine = [json.dumps(told(row), sort_keys=True) for each in answers for row in each[kind]]
        theirs = [json.dumps(row, sort_keys=True) for row in rows_of(file)]
        assert sorted(mine) == sorted(theirs)
    assert {row["attempt"] for each in answers for row in each["candidates"]} == {1}
    assert "40 key pages answered" in fleet.log(worker)


def test_two_workers_answer_each_once(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    with Fleet(server, tmp_path, TPLSPIDER_SEARCHES=4) as fleet:
        fleet.put(sites.key_pages(40, 8))
        workers = [fleet.start(), fleet.start()]
        assert [fleet.end_of(worker) for worker in workers] == [0, 0]
        assert sorted(map(key_of, fleet.summaries())) == sorted(f"key-{n}" for n in range(40))
        assert fleet.redis.keys(f"{QUEUE}:waiting*") == []


def test_the_same_search_is_not_made_twice_at_the_same_time(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    url = sites.url("site-1")
    with Fleet(server, tmp_path) as fleet:
        fleet.put([{"url": url, "id": number} for number in range(5)])
        worker = fleet.start()
        assert fleet.end_of(worker) == 0
        assert sorted(map(key_of, fleet.summaries())) == [*"01234"]
        assert len({len(answer["candidates"]) for answer in fleet.answers()}) == 1


def test_what_a_killed_worker_had_is_taken_over(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    with Fleet(server, tmp_path, TPLSPIDER_CLAIM_SECONDS=2) as fleet:
        fleet.put({"id": n, "url": sites.url(f"late-{n}")} for n in range(2))
        killed = fleet.start("-an=1")
        fleet.until(lambda: len(fleet.in_work()) == 2)
        other = fleet.start("-an=1")
        sleep(0.2)
        killed.kill()
        fleet.put([{"id": 2, "url": sites.url("site-9")}])
        assert fleet.end_of(other) == 0, fleet.log(other)
        assert sorted(map(key_of, fleet.summaries())) == [*"012"]


def test_what_a_stopped_worker_had_is_given_back_at_once(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    with Fleet(server, tmp_path) as fleet:  # nobody is taken for dead within a minute
        fleet.put({"id": n, "url": sites.url(f"hang-{n}")} for n in range(3))
        stopped = fleet.start("-aforever=1")
        fleet.until(lambda: len(fleet.in_work()) == 3)
        began = monotonic()
        assert fleet.stop(stopped) == 1
        assert monotonic() - began < 30
        found = fleet.redis.xpending_range(QUEUE, "tplspider", "-", "+", 10)
        assert [(row["consumer"], row["times_delivered"]) for row in found] == [
            (b"returned", 0)
        ] * 3
        # Perhaps by twos: what was not begun goes back first.
        given = re.findall(r"Given back to the queue: (\d+) key page", fleet.log(stopped))
        assert sum(map(int, given)) == 3
        assert [key for key in fleet.keys if b"lease" in key] == []
        other = fleet.start("-aforever=1")
        fleet.until(lambda: [*fleet.in_work().values()] == [1, 1, 1])
        other.send_signal(signal.SIGINT)
        assert fleet.end_of(other) == 1


def test_a_key_page_that_kills_its_workers_is_given_up(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    poison = {"id": "poison", "url": sites.url("site-1")}
    settings: dict[str, object] = {
        "TPLSPIDER_CLAIM_SECONDS": 1,
        "TPLSPIDER_SEARCHES": 4,
        "EXTENSIONS": json.dumps({"tests.support.components.DiesOfOne": 1}),
        "DIES_OF": poison["url"],
    }
    with Fleet(server, tmp_path, **settings) as fleet:
        fleet.put([poison, *({"id": n, "url": sites.url(f"site-{n}")} for n in range(2, 9))])
        statuses: list[int] = []
        while fleet.left and len(statuses) < 8:
            statuses.append(fleet.end_of(fleet.start()))
        assert statuses == [-signal.SIGKILL] * 3 + [0]
        summaries = {key_of(row): row for row in fleet.summaries()}
        assert summaries.keys() == {"poison", *"2345678"}
        assert summaries["poison"]["key_outcome"] == "crashed"
        assert summaries["poison"]["hint"] == "3 workers died while it was searched"
        assert {row["key_outcome"] for n, row in summaries.items() if n != "poison"} == {"ok"}
        assert fleet.redis.hget(f"{QUEUE}:facts", "given_up") == b"1"
        assert fleet.redis.hlen(f"{QUEUE}:failed") == 1


def test_a_slow_search_stays_with_its_worker(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    """The first answer comes after 5 seconds."""
    with Fleet(server, tmp_path, TPLSPIDER_CLAIM_SECONDS=2) as fleet:
        fleet.put([{"id": 0, "url": sites.url("late-1")}])
        workers = [fleet.start("-an=1"), fleet.start("-an=1")]
        assert [fleet.end_of(worker) for worker in workers] == [0, 0]
        assert [key_of(row) for row in fleet.summaries()] == ["0"]
        asked = [each for each in sites.asked() if each.path == "/"]
        assert len(asked) == 1
        assert not any("not this worker's any more" in fleet.log(worker) for worker in workers)


def test_entries_out_of_form_are_answered(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    with Fleet(server, tmp_path) as fleet:
        fleet.put(
            [
                {"id": "a"},
                {"url": "ftp://x/", "id": "b"},
                {"tplspider:v": 1, "tplspider:record": "{", "id": "c"},
            ]
        )
        fleet.put([{"url": sites.url("site-2"), "n": "many", "id": "d"}])
        fleet.put([{"url": sites.url("site-2"), "id": "e"}])
        worker = fleet.start()
        assert fleet.end_of(worker) == 1
        outcomes = [row["key_outcome"] for row in fleet.summaries()]
        assert sorted(outcomes) == ["bad-input"] * 4 + ["ok"]
        assert "'tplspider/queue/out_of_form': 4" in fleet.log(worker)
        assert "4  bad entries" in fleet.log(worker)
        assert fleet.left == 0


HOSTILE_RECORDS = [
    "[" * 100_000,
    '{"a":' * 50_000,
    *(
        json.dumps({"number": 1, "values": {"url": "URL"}, "input": None, "mark": "", **fault})
        for fault in (
            {"number": "1"},
            {"values": 5},
            {"values": None},
            {"values": ["URL"]},
            {"input": 5},
            {"input": ["a", {}]},
            {"text": 7},
        )
    ),
    '{"number": 1, "values": {"url": "URL"}, "mark": "", "input": {"a": '
    + "[" * 900
    + "]" * 900
    + "}}",
]


def test_records_that_nobody_here_has_put(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    url, digits = sites.url("site-2"), "9" * 5000
    with Fleet(server, tmp_path) as fleet:
        fleet.put({"tplspider:record": text.replace("URL", url)} for text in HOSTILE_RECORDS)
        fleet.put({"url": url, f"tplspider:{name}": digits, "n": 1} for name in ("v", "attempt"))
        assert fleet.end_of(fleet.start()) == 1
        rows = fleet.summaries()
        assert sorted(row["key_outcome"] for row in rows) == (
            ["bad-input"] * len(HOSTILE_RECORDS) + ["ok"] * 2
        )
        assert {row["attempt"] for row in rows} == {1}
        assert fleet.left == 0


def test_the_fields_of_an_entry_are_its_users(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    """Whatever they are called: two shops of one name are two key pages."""
    own = {"name": "Shop", "line": "7", "attempt": "3", "v": "99", "record": "LP"}
    with Fleet(server, tmp_path) as fleet:
        fleet.put({"url": sites.url("site-2", path), **own} for path in ("/gone", "/gone too"))
        assert fleet.end_of(fleet.start()) == 0
        assert [row["input"] for row in fleet.summaries()] == [own, own]
        assert fleet.redis.hlen(f"{QUEUE}:failed") == 2


def test_a_worker_that_waits_for_more_leaves_nothing_undone(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    with Fleet(server, tmp_path) as fleet:
        worker = fleet.start("-aforever=1")
        fleet.until(lambda: "has nothing for this worker yet" in fleet.log(worker))
        fleet.put([{"url": sites.url("site-2")}])
        fleet.until(lambda: fleet.answered)
        fleet.until(lambda: not fleet.in_work())
        assert fleet.stop(worker) == 0, fleet.log(worker)
        assert "Ended before" not in fleet.log(worker)


def test_workers_agree_on_who_is_dead(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    with Fleet(server, tmp_path) as fleet:
        fleet.put([{"url": sites.url("hang-1")}])
        first = fleet.start()
        fleet.until(fleet.in_work)
        second = fleet.start(settings={"TPLSPIDER_CLAIM_SECONDS": "3"})
        assert fleet.end_of(second) == 2
        assert "TPLSPIDER_CLAIM_SECONDS was 60 and is 3" in fleet.log(second)
        assert first.poll() is None


def test_an_entry_of_a_later_version_is_left_to_others(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    with Fleet(server, tmp_path) as fleet:
        fleet.put([{"url": sites.url("site-2"), "tplspider:v": 99}, {"url": sites.url("hang-1")}])
        worker = fleet.start()
        assert fleet.end_of(worker) == 1
        assert fleet.left == 2
        assert {
            row["times_delivered"]
            for row in fleet.redis.xpending_range(QUEUE, "tplspider", "-", "+", 10)
        } == {0}
        errors = [line for line in fleet.log(worker).splitlines() if "] ERROR: " in line]
        assert len(errors) == 1
        assert "an entry of version 99" in errors[0]


def test_a_queue_that_is_deleted_begins_again(
    server: RedisServer, sites: ManySites, tmp_path: Path
) -> None:
    with Fleet(server, tmp_path, TPLSPIDER_CLAIM_SECONDS=2) as fleet:
        fleet.put([{"url": sites.url("hang-1"), "id": 0}])
        worker = fleet.start()
        fleet.until(fleet.in_work)
        fleet.redis.delete(*fleet.redis.keys(f"{QUEUE}*"))
        fleet.put([{"url": sites.url("site-1"), "id": 1}])
        assert fleet.end_of(worker) == 0, fleet.log(worker)
        assert [key_of(row) for row in fleet.summaries()] == ["1"]

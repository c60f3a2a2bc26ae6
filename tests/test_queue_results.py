"""scrapy queue results: no row is lost, none is twice, and what is missing is told."""

from __future__ import annotations

import csv
import json
import random
import signal
import time
import zlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.fleet_queue import FleetQueue, rows_of
from tests.support.redis_server import RedisServer, needs_redis, redis_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [needs_redis, pytest.mark.crawl]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as started:
        yield started


@pytest.fixture
def queue(server: RedisServer) -> FleetQueue:
    made = FleetQueue(server)
    made.redis("FLUSHALL")
    return made


def fill(queue: FleetQueue, folder: Path, count: int, start: int = 0) -> None:
    path = folder / f"list{start}.txt"
    path.write_text("\n" * start + "".join(f"http://{i}.example/\n" for i in range(count)))
    assert queue.run("put", path).code == 0


def rows(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as file:
        if path.suffix == ".csv":
            return list(csv.DictReader(file, strict=True))
        return [json.loads(line) for line in file]


def numbers(path: Path) -> list[int]:
    return [int(row["search_id"].removeprefix("search ")) for row in rows(path)]


def refused(queue: FleetQueue, *arguments: object) -> str:
    told = queue.run("results", *arguments)
    assert (told.code, told.out) == (2, "")
    assert len(told.err.splitlines()) == 1
    return told.err


def test_goes_on_from_where_it_stopped(queue: FleetQueue, tmp_path: Path) -> None:
    fill(queue, tmp_path, 300)
    found, ends, pages = (tmp_path / name for name in ("c.csv", "s.jl", "t.jl"))
    options = ("-O", found, "--summary", ends, "--template", pages)
    queue.answer(200)
    assert queue.run("results", *options).out == "200 results written\n"
    queue.answer()
    with ends.open("a") as file:
        file.write('{"half a row')  # as of a command that was killed
    told = queue.run("results", *options)
    assert (told.code, told.out) == (0, "100 results written\n")
    assert len(told.err.splitlines()) == 1
    assert "cut off what stood behind the last row, as after a kill: 12 bytes" in told.err
    told = queue.run("results", *options)
    assert (told.out, told.err) == ("0 results written\n", "")
    assert numbers(ends) == numbers(pages) == list(range(1, 301))
    assert numbers(found) == [number for number in range(1, 301) for _ in (1, 2)]
    assert rows(found)[0].keys() >= {"key_url", "rank", "attempt"}
    assert {row["attempt"] for row in rows(ends)} == {1}
    assert rows(pages)[0]["content_text"] == "\u202e\x00"


def test_killed_at_any_moment(queue: FleetQueue, tmp_path: Path) -> None:
    count = 1500
    fill(queue, tmp_path, count)
    while queue.answer():
        pass
    found, ends = tmp_path / "c.csv", tmp_path / "s.jl"
    options = ("-O", found, "--summary", ends, "--trim")
    chance = random.Random(7)
    for _ in range(5):
        before = ends.stat().st_size if ends.exists() else 0
        process = queue.start("results", *options)
        while process.poll() is None and (not ends.exists() or ends.stat().st_size in (0, before)):
            time.sleep(0.001)
        time.sleep(chance.random() * 0.03)
        process.kill()
        process.communicate()
    assert queue.run("results", *options).code == 0
    assert numbers(ends) == list(range(1, count + 1))
    assert numbers(found) == [number for number in range(1, count + 1) for _ in (1, 2)]
    assert queue.redis("XLEN", queue.keys.results) == 0


def test_one_search_for_several_entries(queue: FleetQueue, tmp_path: Path) -> None:
    fill(queue, tmp_path, 3)
    queue.answer(search="the same")
    found, ends = tmp_path / "c.jl", tmp_path / "s.jl"
    assert queue.run("results", "-O", found, "--summary", ends).code == 0
    assert [row["rank"] for row in rows(found)] == [1, 2]
    assert [row["line"] for row in rows(ends)] == [1, 2, 3]
    final = tmp_path / "final.json"
    assert queue.run("results", "-O", final, "--final").code == 0
    assert [row["rank"] for row in json.loads(final.read_text())] == [1, 2]


def test_what_redis_forgot_and_was_told_again(queue: FleetQueue, tmp_path: Path) -> None:
    fill(queue, tmp_path, 2)
    (one, two) = queue.entries()
    ends = tmp_path / "s.jl"
    for entry in (one, two, one):
        queue.add_result(rows_of(entry), entry=entry.id)
        assert queue.run("results", "--summary", ends).code == 0
    assert numbers(ends) == [1, 2]


def test_attempts_and_the_final_ones(queue: FleetQueue, tmp_path: Path) -> None:
    fill(queue, tmp_path, 4)
    queue.answer(2, outcome="dns")
    queue.answer()
    assert queue.run("retry").code == 0
    final, ends = tmp_path / "final.xml", tmp_path / "final.csv"
    waiting = queue.start("results", "--final", "-O", final, "--summary", ends)
    assert waiting.stderr
    assert waiting.stderr.readline() == "Waiting: 2 key pages without an answer\n"
    assert not ends.exists()
    queue.answer(1)
    queue.answer(1, outcome="dns")
    out, _ = waiting.communicate(timeout=60)
    assert (waiting.returncode, out) == (0, "4 results written\n")
    standing = {int(row["line"]): (row["attempt"], row["key_outcome"]) for row in rows(ends)}
    assert {standing.pop(1), standing.pop(2)} == {("2", "ok"), ("2", "dns")}
    assert standing == {3: ("1", "ok"), 4: ("1", "ok")}
    assert len(rows(ends)) == 4
    assert final.read_text().count("<item>") == 6
    assert not list(tmp_path.glob("*.part"))
    everything = tmp_path / "all.jl"
    assert queue.run("results", "--summary", everything).code == 0
    assert [row["attempt"] for row in rows(everything)] == [1, 1, 1, 1, 2, 2]
    assert "adds to it" in refused(queue, "--final", "--summary", everything)


def test_other_files_queues_and_streams(queue: FleetQueue, tmp_path: Path) -> None:
    fill(queue, tmp_path, 6)
    queue.answer(2)
    ends = tmp_path / "s.jl"
    options = ("--summary", ends)
    assert queue.run("results", *options).code == 0
    other = FleetQueue(queue.server, "other")
    assert "'other' is not there" in refused(other, *options)
    fill(other, tmp_path, 1)
    assert "queue was tplspider and is other" in refused(other, *options)
    assert "is new" in refused(queue, *options, "--template", tmp_path / "t.jl")
    written = ends.read_bytes()
    ends.write_bytes(written[:-9] + b"x" * 50)
    assert "not as it was left" in refused(queue, *options)
    ends.unlink()
    assert "not as it was left" in refused(queue, *options)
    ends.write_bytes(written)
    strange = tmp_path / "strange.jl"
    strange.write_text("mine\n")
    assert "there already" in refused(queue, "--summary", strange)
    assert strange.read_text() == "mine\n"
    assert not strange.with_name("strange.jl.position").exists()
    # Another reader deletes what this one has not read.
    queue.answer(2)
    assert queue.run("results", "-O", tmp_path / "c.jl", "--trim").code == 0
    assert "2 results were deleted before they were read" in refused(queue, *options)
    queue.answer(2)
    assert "2 results were deleted before they were read" in refused(queue, *options)
    assert queue.run("results", *options, "--rest").out == "2 results written\n"
    assert queue.run("results", *options).out == "0 results written\n"
    assert numbers(ends) == [1, 2, 5, 6]
    assert "4 results were deleted" in refused(queue, "--final", "-O", tmp_path / "f.json")
    assert queue.run("clear", "--yes", "--force").code == 0
    assert "was cleared" in refused(queue, *options)
    fill(queue, tmp_path, 9)
    queue.answer()
    assert "was cleared" in refused(queue, *options)


def test_results_out_of_form_and_of_a_later_version(queue: FleetQueue, tmp_path: Path) -> None:
    fill(queue, tmp_path, 2)
    (one, two) = queue.entries()
    queue.redis("DEL", queue.keys.name)  # all are answered
    for number, bad in enumerate(
        [b"\xff\x1b[31m", zlib.compress(b"[1"), zlib.compress(b"[]"), zlib.compress(b'{"a": 1}')]
    ):
        queue.add_result(bad, entry=f"bad {number}")
    queue.add_result(zlib.compress(b'{"summary": {"reason": 3}}'), entry="worse")
    queue.add_result(rows_of(one), entry=one.id)
    queue.redis("XADD", queue.keys.results, "*", b"\xff\x00", b"\xfe")
    queue.add_result(rows_of(two), entry=two.id, version=2)
    queue.add_result(rows_of(two), entry=two.id)
    ends = tmp_path / "s.jl"
    told = queue.run("results", "--summary", ends)
    assert (told.code, told.out) == (1, "")
    *others, newer = told.err.splitlines()
    assert len(others) == 6
    assert "\x1b" not in told.err
    assert "results of version 2: this tplspider knows 1" in newer
    assert newer.endswith("1 result written; 6 results out of form left out")
    assert numbers(ends) == [1]
    assert "results of version 2" in refused(queue, "--summary", ends)
    final = queue.run("results", "--final", "--rest", "--summary", tmp_path / "final.jl")
    assert final.code == 2
    assert not (tmp_path / "final.jl").exists()
    queue.redis("XDEL", queue.keys.results, last_but_one(queue))
    told = queue.run("results", "--summary", ends, "--rest")
    assert (told.code, told.out) == (0, "1 result written\n")
    assert numbers(ends) == [1, 2]


def last_but_one(queue: FleetQueue) -> bytes:
    found = queue.redis("XREVRANGE", queue.keys.results, "+", "-", "COUNT", "2")
    answer: bytes = found[1][0]
    return answer


def test_rows_that_cannot_be_written(queue: FleetQueue, tmp_path: Path) -> None:
    fill(queue, tmp_path, 2)
    (one, two) = queue.entries()
    queue.redis("DEL", queue.keys.name)  # all are answered
    rows_given = json.loads(zlib.decompress(rows_of(one)))

    def packed(kind: str, **values: object) -> bytes:
        row = rows_given[kind]
        changed = {**row, **values} if kind == "summary" else [{**row[0], **values}]
        return zlib.compress(json.dumps({**rows_given, kind: changed}).encode())

    def nested(levels: int) -> dict[str, Any]:
        return {"a": nested(levels - 1)} if levels else {}

    bad = [
        packed("summary", hint="\ud800"),
        packed("summary", input={"a": [{"\udfff": 1}]}),
        packed("summary", input=[1]),
        packed("summary", input=nested(300)),
        packed("summary", input={"a": float("nan")}),
        packed("summary", similarity=float("inf")),
        packed("summary", cs_size=10**400),
        packed("summary", complete=1),
        packed("summary", line=True),
        packed("summary", search_id="\ud800"),
        packed("summary", search_id=["x"]),
        packed("summary", search_id=10**30),
        packed("candidates", search_id=["x"]),
        packed("candidates", similarity=None),
        packed("templates", members="abc"),
        zlib.compress(json.dumps({**rows_given, "candidates": "abc"}).encode()),
        zlib.compress(b'{"summary":' + b"[" * 200_000),
        zlib.compress(b'{"summary": "\xed\xa0\x80"}'),
    ]
    for number, each in enumerate(bad):
        queue.add_result(each, entry=f"bad {number}")
    for attempt in ("0", "-1", "1" * 10, "\u0661"):
        queue.add_result(rows_of(one), entry=f"attempt {attempt}", attempt=attempt)
    ids = [found[0].decode() for found in queue.redis("XRANGE", queue.keys.results, "-", "+")]
    queue.add_result(rows_of(one), entry="in form", attempt="9" * 9)
    queue.add_result(packed("summary", input=nested(90), similarity=1), entry="deep")
    queue.add_result(rows_of(two), entry=two.id)
    for options in (("--summary", tmp_path / "s.jl"), ("--final", "--summary", tmp_path / "f.csv")):
        told = queue.run("results", *options, "-O", tmp_path / f"c{len(options)}.csv")
        assert told.out == "3 results written; 22 results out of form left out\n", told.err
        assert told.code == 1
        lines = told.err.splitlines()
        assert [line.split()[1] for line in lines] == ids
        assert numbers(options[-1]) == [1, 1, 2]
        assert [int(row["attempt"]) for row in rows(options[-1])] == [10**9 - 1, 1, 1]


def test_follow_and_two_at_once(queue: FleetQueue, tmp_path: Path) -> None:
    fill(queue, tmp_path, 5)
    queue.answer(2)
    ends = tmp_path / "s.jl"
    process = queue.start("results", "--summary", ends, "--follow")
    while not ends.exists() or len(ends.read_bytes().splitlines()) < 2:
        assert process.poll() is None
        time.sleep(0.02)
    assert "another command is using it" in refused(queue, "--summary", ends)
    queue.answer()
    while len(ends.read_bytes().splitlines()) < 5:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "5 results written\n")
    assert queue.run("results", "--summary", ends).out == "0 results written\n"
    assert numbers(ends) == [1, 2, 3, 4, 5]

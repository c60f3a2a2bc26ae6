"""scrapy queue put, status, retry and clear: every line once, and one line when it goes wrong."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import re
import signal
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.fleet_queue import FleetQueue
from tests.support.redis_server import RedisServer, needs_redis, redis_server
from tplspider.crawl.fleet.address import QueueAddress
from tplspider.crawl.fleet.link import Link, QueueError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [needs_redis, pytest.mark.crawl]

PUT = "Queue tplspider:"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with redis_server(tmp_path_factory.mktemp("redis")) as started:
        yield started


@pytest.fixture
def queue(server: RedisServer) -> FleetQueue:
    made = FleetQueue(server)
    made.redis("FLUSHALL")
    return made


def urls(count: int, start: int = 0) -> str:
    return "".join(f"http://{number}.example/\n" for number in range(start, start + count))


def lines_put(queue: FleetQueue) -> list[int]:
    return [entry.line.number for entry in queue.entries()]


def test_a_list_is_put_once_and_grows(queue: FleetQueue, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(urls(1200) + "\n# a comment\nno address\x1b[31m \n")
    assert queue.run("put", path).out == f"{PUT} 1201 key pages put\n"
    assert queue.run("put", path).out == f"{PUT} 0 key pages put; 1201 were there before\n"
    with path.open("a") as file:
        file.write(urls(2, 5000))
    assert queue.run("put", path).out == f"{PUT} 2 key pages put; 1201 were there before\n"
    entries = queue.entries()
    assert len({entry.name for entry in entries}) == len(entries) == 1203
    assert entries[0].line.values == {"url": "http://0.example/"}
    assert entries[-1].name == f"{path}:1205"
    assert queue.redis("HGET", queue.keys.facts, "put") == b"1203"


def test_a_list_that_was_changed_is_refused(queue: FleetQueue, tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    path.write_text("url,shop\n" + "http://a.example/,1\n")
    assert queue.run("put", path).code == 0
    for text in ("url,shop\nhttp://a.example/,2\n", "url,shop2\nhttp://a.example/,1\n"):
        path.write_text(text)
        told = queue.run("put", path)
        assert told.code == 2
        assert re.fullmatch(r"scrapy queue: error: put '.*': not the list .*--as NAME\n", told.err)
    path.write_text("url,shop\nhttp://a.example/,1\nhttp://b.example/,1\n")
    assert queue.run("put", path).code == 0
    path.write_text("url,shop\nhttp://a.example/,1\n")
    assert "2 lines of it are in the queue, and it has 1 now" in queue.run("put", path).err
    assert queue.run("put", path, "--as", "another").out == f"{PUT} 1 key page put\n"
    assert len(queue.entries()) == 3


def test_standard_input_is_remembered_by_a_name_only(queue: FleetQueue) -> None:
    assert queue.run("put", "-", given=urls(2)).out == f"{PUT} 2 key pages put\n"
    assert queue.run("put", "-", given=urls(2)).out == f"{PUT} 2 key pages put\n"
    assert queue.redis("HLEN", queue.keys.files) == 0
    assert queue.run("put", "-", "--as", "pipe", given=urls(2)).out == f"{PUT} 2 key pages put\n"
    grown = queue.run("put", "-", "--as", "pipe", given=urls(3))
    assert grown.out == f"{PUT} 1 key page put; 2 were there before\n"
    assert len({entry.name for entry in queue.entries()}) == 7


def test_lines_out_of_form_are_put_and_counted(queue: FleetQueue, tmp_path: Path) -> None:
    path = tmp_path / "list.jl"
    path.write_bytes(b'{"url": "http://a.example/", "own": "\\u202e\\u0000"}\n{\xff\n{"url": 3}\n')
    assert queue.run("put", path).out == f"{PUT} 3 key pages put (2 of them out of form)\n"
    good, *bad = queue.entries()
    assert good.line.input == {"own": "\u202e\x00"}
    assert all(entry.line.fault for entry in bad)


def test_killed_at_any_moment_and_repeated(queue: FleetQueue, tmp_path: Path) -> None:
    path, count = tmp_path / "list.txt", 20_000
    path.write_text(urls(count))
    chance = random.Random(5)
    for _ in range(5):
        before = queue.redis("XLEN", queue.keys.name)
        process = queue.start("put", path)
        while process.poll() is None and queue.redis("XLEN", queue.keys.name) == before:
            time.sleep(0.01)
        time.sleep(chance.random() * 0.2)
        process.kill()
        process.communicate()
    assert queue.run("put", path).code == 0
    assert lines_put(queue) == list(range(1, count + 1))


def test_two_at_once_and_a_redis_that_hangs(queue: FleetQueue, tmp_path: Path) -> None:
    path, count = tmp_path / "list.txt", 10_000
    path.write_text(urls(count))
    both = [queue.start("put", path) for _ in range(2)]
    time.sleep(1.5)
    queue.server.pause()
    time.sleep(1)
    queue.server.resume()
    for process in both:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert lines_put(queue) == list(range(1, count + 1))


def test_redis_killed_and_back(tmp_path: Path) -> None:
    path, count = tmp_path / "list.txt", 20_000
    path.write_text(urls(count))
    with redis_server(tmp_path, "--appendfsync", "always", durable=True) as server:
        queue = FleetQueue(server)
        process = queue.start("put", path)
        while not queue.redis("XLEN", queue.keys.name):
            time.sleep(0.01)
        server.kill()
        time.sleep(0.5)
        server.start()
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert lines_put(queue) == list(range(1, count + 1))


def test_out_of_memory(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(urls(30_000))
    with redis_server(tmp_path, "--maxmemory", "5mb") as server:
        queue = FleetQueue(server)
        told = queue.run("put", path)
        put = queue.redis("XLEN", queue.keys.name)
        assert told.code == 1
        assert 0 < put < 30_000
        assert told.err == (
            f"scrapy queue: the queue at {server.url}: no memory left: {put} key pages put:"
            " the same command goes on from there\n"
        )
        assert "waiting" in queue.run("status").out
        queue.redis("CONFIG", "SET", "maxmemory", "0")
        assert queue.run("put", path).code == 0
        assert lines_put(queue) == list(range(1, 30_001))


def test_a_cut_off_list_goes_on_when_it_is_whole(queue: FleetQueue, tmp_path: Path) -> None:
    path = tmp_path / "list.txt.gz"
    whole = gzip.compress(
        "".join(f"http://{random.random()}.example/\n" for _ in range(9000)).encode()
    )
    path.write_bytes(whole[: len(whole) // 2])
    told = queue.run("put", path)
    assert told.code == 1
    assert "its gzip data is cut off" in told.err
    assert len(told.err.splitlines()) == 1
    path.write_bytes(whole)
    assert queue.run("put", path).code == 0
    assert lines_put(queue) == list(range(1, 9001))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "expected one of put, status, results, retry, clear"),
        (("put",), "put FILE: give one list"),
        (("put", "/nowhere.txt"), "put '/nowhere.txt': No such file or directory"),
        (("status", "--yes"), "--yes is an option of clear, not of status"),
        (("status", "x"), "status: no ['x']"),
        (("results",), "results: give at least one of -O, --summary and --template"),
        (("results", "-O", "a.json"), "make it .jl or .csv, or give --final"),
        (("results", "-O", "a.txt"), "expected a file that ends in one of"),
        (("results", "-O", "a.jl", "--summary", "a.jl"), "is the file of another feed"),
        (("status", "--nothing"), "unknown option '--nothing'"),
        (("status", "-q", "a:b"), "expected a name that has no space"),
    ],
)
def test_wrong_use(arguments: tuple[str, ...], why: str, queue: FleetQueue) -> None:
    named = arguments[-2:-1] == ("-q",)
    told = FleetQueue(queue.server, arguments[-1] if named else "q").run(*arguments)
    assert (told.code, told.out) == (2, "")
    assert why in told.err
    assert len(told.err.splitlines()) == 1


def test_no_redis_and_no_password(tmp_path: Path) -> None:
    nobody = FleetQueue(RedisServer(tmp_path))
    told = nobody.run("status")
    assert told.code == 2
    assert len(told.err.splitlines()) == 1
    with redis_server(tmp_path, "--requirepass", "secret") as server:
        queue = FleetQueue(server)
        for password in ("", "wrong"):
            told = queue.run("status", TPLSPIDER_QUEUE_PASSWORD=password)
            assert told.code == 2
            assert len(told.err.splitlines()) == 1
            assert "secret" not in told.err
            assert "wrong" not in told.err.replace("wrong number", "").replace("WRONGPASS", "")
        assert queue.run("status", TPLSPIDER_QUEUE_PASSWORD="secret").code == 0
        told = queue.run("status", "-sTPLSPIDER_QUEUE_PASSWORD=secret")
        assert told.code == 2
        assert "secret" not in told.err


def test_tls_where_there_is_none(server: RedisServer) -> None:
    url = server.url.replace("redis://", "rediss://") + "?socket_connect_timeout=0.3"
    with pytest.raises(QueueError, match="no TLS at that port"):
        asyncio.run(Link.open(QueueAddress(url), 0))


@pytest.mark.parametrize("key", ["", ":results", ":files", ":waiting"])
def test_keys_of_another_type(key: str, queue: FleetQueue, tmp_path: Path) -> None:
    queue.redis("SET", queue.keys.name + key, "mine")
    path = tmp_path / "list.txt"
    path.write_text(urls(1))
    for arguments in (["put", path], ["status"], ["clear", "--yes", "--force"]):
        told = queue.run(*arguments)
        assert told.code == 2
        assert f"the key tplspider{key} in Redis is a string" in told.err
        assert len(told.err.splitlines()) == 1
    assert queue.redis("GET", queue.keys.name + key) == b"mine"


def test_a_queue_of_a_later_version(queue: FleetQueue, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(urls(1))
    queue.redis("HSET", queue.keys.facts, "v", "2")
    told = queue.run("put", path)
    assert told.code == 2
    assert "of a later version of tplspider" in told.err


def samples(text: str) -> dict[str, float]:
    """Prometheus's text format, strictly: every sample below its own HELP and TYPE."""
    found: dict[str, float] = {}
    label = r'[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
    current = ""
    for line in text.splitlines():
        if head := re.fullmatch(r"# HELP ([a-z_]+) .+", line):
            current = head[1]
        elif line.startswith("#"):
            assert re.fullmatch(rf"# TYPE {current} (gauge|counter)", line)
            assert line.endswith("counter") == current.endswith("_total")
        else:
            sample = re.fullmatch(rf"([a-z_]+)\{{({label}(?:,{label})*)\}} ([0-9.]+)", line)
            assert sample, line
            assert sample[1] == current
            series = f"{sample[1]}{{{sample[2]}}}"
            assert series not in found
            found[series] = float(sample[3])
    return found


def test_status_metrics_retry_and_clear(queue: FleetQueue, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(urls(10))
    queue.run("put", path)
    worker = 'evil"\\\n\x1b[31m'
    assert queue.answer(3, outcome="dns", worker=worker) == 3
    assert queue.answer(2, worker=worker) == 2
    take = (queue.keys.name, queue.keys.workers)
    queue.ask(lambda link: link.run("take", [*take], "tplspider", worker, "no JSON", 1, 60000, 1))
    status = queue.run("status")
    assert "\x1b" not in status.out
    words = {line.split()[0]: line.split() for line in status.out.splitlines()[1:]}
    assert words["waiting"][1] == "4"
    assert words["in"][2] == "1"
    assert words["done"][1] == "5"
    assert words["failed"][1] == "3"
    assert words["results"][1] == "5"
    assert " left" in status.out
    found = samples(queue.run("status", "--metrics").out)
    assert found['tplspider_queue_waiting{queue="tplspider"}'] == 4
    assert found['tplspider_queue_done_total{queue="tplspider"}'] == 5
    assert found['tplspider_queue_workers{queue="tplspider",state="alive"}'] == 1
    assert sum(value for name, value in found.items() if "_in_work" in name) == 1
    assert "1 worker gave signs of life" in queue.run("clear", "--yes").err
    time.sleep(0.3)
    dead = queue.run("status", "-sTPLSPIDER_CLAIM_SECONDS=0.2")
    assert "DEAD" in dead.out

    queue.redis("HSET", queue.keys.failed, "broken", "[1]")
    told = queue.run("retry")
    assert (told.code, told.out) == (
        1,
        "3 failed key pages put back; 1 out of form stay where they are\n",
    )
    again = queue.entries()[-3:]
    assert {entry.attempt for entry in again} == {2}
    assert {entry.name for entry in again} == {f"{path}:{number}" for number in (1, 2, 3)}
    assert queue.run("clear", "--force").code == 2
    assert queue.redis("EXISTS", queue.keys.name) == 1
    queue.redis("RPUSH", queue.keys.waiting_for("a.example"), "1-1")
    assert queue.run("clear", "--yes", "--force").code == 0
    assert queue.redis("KEYS", "*") == []


def test_status_of_what_others_have_written(queue: FleetQueue, tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text(urls(3))
    queue.run("put", path)
    assert queue.answer(1) == 1
    names = [b"\xff", b"\xfe", b"\\xff", b"\\udcff", "\xff\u2028".encode(), b"a\r\x1b[31m\n"]
    for name in names:
        queue.redis("XGROUP", "CREATECONSUMER", queue.keys.name, "tplspider", name)
    beats = [b"[" * 100_000, b'{"done": 1' + b"0" * 4000 + b"}", b'{"host": [[]], "done": true}']
    for name, beat in zip(names, beats, strict=False):
        queue.redis("HSET", queue.keys.workers, name, beat)
    for field, value in (("x", "y"), ("9" * 400, "5"), (str(int(time.time()) // 60), "9" * 400)):
        queue.redis("HSET", queue.keys.rate, field, value)
    queue.redis("HSET", queue.keys.facts, "done", "9" * 400)
    queue.redis("HSET", queue.keys.facts, "given_up", "-7")
    status = queue.run("status")
    assert (status.code, status.err) == (0, "")
    assert all(len(line) < 100 for line in status.out.splitlines())
    told = queue.run("status", "--metrics")
    assert (told.code, told.err) == (0, "")
    assert all(line.isprintable() for line in told.out.split("\n"))
    found = samples(told.out)
    assert found['tplspider_queue_done_total{queue="tplspider"}'] == 0
    assert found['tplspider_queue_given_up_total{queue="tplspider"}'] == 0
    assert len([name for name in found if "_in_work" in name]) == len(names) + 1


def test_retry_goes_on_after_a_kill_and_leaves_what_fails_meanwhile(
    queue: FleetQueue, tmp_path: Path
) -> None:
    for number in range(1000):
        ours = {"tplspider:v": "1", "tplspider:name": str(number), "tplspider:attempt": "2"}
        fields = {**ours, "url": f"http://{number}.example/"}
        key = queue.keys.retrying if number < 500 else queue.keys.failed
        queue.redis("HSET", key, str(number), json.dumps(fields))
    assert queue.run("retry").out == "1000 failed key pages put back\n"
    assert sorted(int(entry.name) for entry in queue.entries()) == list(range(1000))
    assert queue.redis("EXISTS", queue.keys.retrying, queue.keys.failed) == 0


def test_watch_ends_with_ctrl_c(queue: FleetQueue) -> None:
    process = queue.start("status", "--watch")
    assert process.stdout
    for _ in range(2):
        assert re.fullmatch(r"0 waiting, 0 in work, 0 done, .*\n", process.stdout.readline())
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")

"""The list of searches that ``scrapy ui`` keeps: what becomes of each, whatever ends."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
import sys
import zlib
from argparse import Namespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.settings import Settings

from tests.support.crawls import PROJECT
from tests.support.summaries import row, summary, unusable
from tplspider.items import CandidateSearch
from tplspider.old.crawl.ui.serve import check_settings, run_ui
from tplspider.plugins.ui.run import MOST_EVENTS, state_of
from tplspider.plugins.ui.runs import Runs, TooManyError
from tplspider.plugins.ui.state_folder import InUseError, StateFolder
from tplspider.plugins.ui.store import NAME, RunStore, StoreError
from tplspider.plugins.ui.wanted import Wanted
from tplspider.plugins.ui.worker_process import WorkerProcess
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tplspider.plugins.ui.run import Run


class Worker:
    """What the server says to its worker, and the worker's words."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.told: list[dict[str, Any]] = []
        runs.send = self.told.append

    def says(self, run: Run, event: str, **more: Any) -> None:
        self.runs.take({"run": run.id, "event": event, **more})

    def link(self, run: Run, rank: int, members: list[int]) -> None:
        told = row(rank, [], title=f"title {rank}") | {"members": members, "loads": rank + 1}
        self.says(run, "link", **told)

    def answers(self, run: Run, found: dict[str, Any]) -> None:
        names = ("rank", "url", "title", "anchor_text")
        rows = [each for each in found["explored"] if each["url"] in found["candidates"]]
        candidates = [{name: each[name] for name in names} for each in rows]
        self.says(run, "answer", summary=found, candidates=candidates, template=None)


def wanted(*names: str) -> list[Wanted]:
    return [Wanted(f"http://a:b@x.example/{name}", f"http://x.example/{name}", 3, "guided")
            for name in names]  # fmt: skip


def followed(runs: Runs, run: Run) -> list[dict[str, Any]]:
    async def follow() -> list[dict[str, Any]]:
        return [event async for events in runs.follow(run) for event in events]

    return asyncio.run(asyncio.wait_for(follow(), 60))


FOUND = summary([row(1, [0, 2]), row(2, [0, 1])], [1, 2])


def test_from_the_form_to_the_answer(tmp_path: Path) -> None:
    runs = Runs(RunStore(tmp_path))
    worker = Worker(runs)
    (run,) = runs.submit(wanted("a"))
    assert worker.told == [
        {"run": run.id, "url": "http://a:b@x.example/a", "n": 3, "strategy": "guided"}
    ]
    assert (run.state, run.url) == ("waiting", "http://x.example/a")
    worker.says(run, "opened")
    assert run.state == "running"
    worker.says(run, "started", url="http://x.example/a", title="key", links=7, unparsable=0)
    worker.link(run, 1, [1])
    worker.link(run, 2, [])
    worker.link(run, 3, [1, 3])
    assert [member["title"] for member in run.members] == ["title 1", "title 3"]
    assert (run.title, run.links, run.tried, run.loads) == ("key", 7, 3, 4)
    worker.answers(run, FOUND)
    worker.says(run, "settled")
    assert (run.state, run.has_answer) == ("over", True)
    assert run.headline.startswith("2 pages")
    answer = runs.answer(run)
    assert answer
    assert answer["summary"] == FOUND
    kinds = [event["event"] for event in followed(runs, run)]
    assert kinds == ["started", "link", "link", "ended"]
    # The same again after a restart.
    again = Runs(RunStore(tmp_path))
    assert [each.record() for each in again.listed()] == [run.record()]
    assert again.counts() == {"total": 1, "running": 0, "waiting": 0}
    assert followed(again, again.listed()[0]) == followed(runs, run)


def test_whoever_watches_is_told_as_it_happens(tmp_path: Path) -> None:
    runs = Runs(RunStore(tmp_path))
    worker = Worker(runs)
    (run,) = runs.submit(wanted("a"))

    async def watch(tell: asyncio.Event) -> list[str]:
        told = []
        async for events in runs.follow(run):
            told += [event["event"] for event in events]
            tell.set()
        return told

    async def main() -> list[list[str]]:
        seen = asyncio.Event()
        watching = [asyncio.create_task(watch(seen)) for _ in range(2)]
        worker.says(run, "opened")
        await asyncio.wait_for(seen.wait(), 60)
        for rank in range(1, MOST_EVENTS + 100):
            worker.link(run, rank, [])
        worker.answers(run, FOUND)
        return await asyncio.wait_for(asyncio.gather(*watching), 60)

    first, second = asyncio.run(main())
    assert first == second
    assert first == ["opened", *["link"] * (MOST_EVENTS - 1), "ended"]


def test_a_search_that_dies(tmp_path: Path) -> None:
    """Those in the process are ended, with what is known; those that wait go to the next."""
    runs = Runs(RunStore(tmp_path))
    worker = Worker(runs)
    first, second, third = runs.submit(wanted("a", "b", "c"))
    worker.says(first, "opened")
    worker.says(first, "started", url="u", title="key", links=7, unparsable=0)
    worker.link(first, 1, [1])
    worker.says(second, "opened")
    worker.says(second, "settled")  # its items were lost
    assert (second.state, second.has_answer) == ("ended", False)
    runs.worker_ended()
    assert [run.state for run in (first, second, third)] == ["ended", "ended", "waiting"]
    assert "has ended" in first.note
    assert [member["rank"] for member in first.members] == [1]
    kinds = [event["event"] for event in followed(runs, first)]
    assert kinds == ["opened", "started", "link", "ended"]
    worker.told.clear()
    runs.worker_started()
    assert [line["run"] for line in worker.told] == [third.id]


def test_cancelling(tmp_path: Path) -> None:
    runs = Runs(RunStore(tmp_path))
    worker = Worker(runs)
    first, second = runs.submit(wanted("a", "a"))
    assert first.id != second.id  # the same search again is a new one
    worker.says(first, "opened")
    runs.cancel(first)
    assert first.state == "running"  # until it has handed in what it has
    worker.answers(first, unusable(key_outcome="not-loaded", reason="cancelled"))
    runs.cancel(second)
    assert [first.state, second.state] == ["cancelled", "cancelled"]
    assert [line["cancel"] for line in worker.told[2:]] == [first.id, second.id]
    worker.says(second, "opened")
    worker.answers(second, FOUND)
    assert second.state == "cancelled"
    runs.cancel(second)
    assert len(worker.told) == 4
    assert first.advice == ""  # whoever cancelled it knows


def test_what_to_try_and_what_is_open(tmp_path: Path) -> None:
    runs = Runs(RunStore(tmp_path))
    worker = Worker(runs)
    failed, costly, running, waiting = runs.submit(wanted(*"abcd"))
    for run in (failed, costly, running):
        worker.says(run, "opened")
    worker.answers(failed, unusable(key_outcome="http-404"))
    assert failed.advice.startswith("Check the address")
    worker.answers(costly, FOUND | {"complete": False, "reason": "max_loads"})
    assert (costly.state, costly.advice) == ("over", "")  # the form has no budget
    assert runs.listed(state="open") == runs.unfinished()[::-1] == [waiting, running]
    assert runs.listed(state="closed") == [costly, failed]
    assert runs.listed(state="closed", before=costly.number) == [failed]


def test_the_server_is_killed(tmp_path: Path) -> None:
    runs = Runs(RunStore(tmp_path))
    worker = Worker(runs)
    first, second = runs.submit(wanted("a", "b"))
    worker.says(first, "opened")
    after = Runs(RunStore(tmp_path))
    assert [run.state for run in after.listed()] == ["ended", "ended"]
    assert all("server" in run.note for run in after.listed())
    assert [run.id for run in after.listed()] == [second.id, first.id]


def test_the_list_does_not_grow_for_ever(tmp_path: Path) -> None:
    runs = Runs(RunStore(tmp_path), most=3)
    worker = Worker(runs)
    first, _ = runs.submit(wanted("a", "b"))
    worker.says(first, "opened")
    worker.answers(first, FOUND)
    runs.submit(wanted("c", "d"))
    assert [run.url[-1] for run in runs.listed()] == ["d", "c", "b"]  # a was over
    assert runs.get(first.id) is None
    with pytest.raises(TooManyError, match="3 searches are open and 1 more"):
        runs.submit(wanted("e"))
    assert [run.url[-1] for run in Runs(RunStore(tmp_path)).listed()] == ["d", "c", "b"]


@pytest.mark.parametrize(
    ("outcome", "reason", "state"),
    [
        ("ok", "complete_subdigraph", "over"),
        ("ok", "links_exhausted", "over"),
        ("ok", "max_loads", "over"),
        ("ok", "cancelled", "cancelled"),
        ("not-loaded", "cancelled", "cancelled"),
        ("http-404", "key_page_unusable", "failed"),
        ("ok", "shutdown", "ended"),
        ("not-loaded", "shutdown", "ended"),
        ("ok", "error", "ended"),
    ],
)
def test_states(outcome: str, reason: str, state: str) -> None:
    found = CandidateSearch(**FOUND | {"key_outcome": outcome, "reason": reason})
    assert state_of(found) == state


def test_a_damaged_file_is_put_aside(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"not a database" * 1000)
    store = RunStore(tmp_path)
    assert "damaged" in store.fault
    assert list(store.runs()) == []
    assert (tmp_path / "searches.damaged").read_bytes().startswith(b"not a database")


def test_damage_that_shows_in_an_index_of_the_file(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    Runs(store).submit(wanted(*"abcdefgh" * 50))
    ((page, size),) = store._run(
        "SELECT rootpage, page_size FROM sqlite_master, pragma_page_size"
        " WHERE name = 'sqlite_autoindex_runs_1'"
    )
    store.close()
    with (tmp_path / NAME).open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)
    store = RunStore(tmp_path)
    assert "put aside" in store.fault
    assert Runs(store).submit(wanted("a"))
    store.close()


@pytest.mark.parametrize("record", ["[]", "5", "null", '{"id": 1}', "{", "[" * 100_000])
def test_a_damaged_record_is_left_out(tmp_path: Path, record: str) -> None:
    store = RunStore(tmp_path)
    bad, good = Runs(store).submit(wanted("a", "b"))
    store._run("UPDATE runs SET record = ? WHERE id = ?", (record, bad.id))
    assert [run.id for run in store.runs()] == [good.id]
    store.close()


@pytest.mark.parametrize(
    "field",
    [{"id": [1]}, {"members": 5}, {"members": [{"url": "a"}]}, {"state": "odd"}, {"n": "3"}],
    ids=str,
)
def test_a_record_with_another_value_is_left_out(tmp_path: Path, field: dict[str, Any]) -> None:
    store = RunStore(tmp_path)
    bad, good = Runs(store).submit(wanted("a", "b"))
    record = json.dumps(bad.record() | field)
    store._run("UPDATE runs SET record = ? WHERE id = ?", (record, bad.id))
    assert [run.id for run in store.runs()] == [good.id]
    store.close()


def test_a_letter_that_is_damaged_costs_its_record(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    runs = Runs(store).submit(wanted("first", "second", "third"))
    store.close()
    path = tmp_path / NAME
    data = bytearray(path.read_bytes())
    data[data.find(b"second")] ^= 0x80
    path.write_bytes(data)
    store = RunStore(tmp_path)
    assert store.fault == ""
    assert [run.id for run in store.runs()] == [runs[0].id, runs[2].id]
    store.close()


def test_a_file_that_is_gone_is_not_made_by_reading(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    for path in tmp_path.glob("searches.sqlite*"):
        path.unlink()
    with pytest.raises(StoreError, match="unable to open"):
        list(store.answers())
    assert not (tmp_path / NAME).exists()
    store.close()


@pytest.mark.parametrize(
    "damage",
    [
        b"garbage",
        *map(zlib.compress, (b"{}", b"[]", b'{"summary": null}', b"[" * 100_000)),
    ],
)
def test_a_damaged_answer_does_not_cost_the_others(
    damage: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    runs = Runs(RunStore(tmp_path))
    worker = Worker(runs)
    bad, good = runs.submit(wanted("a", "b"))
    for run in (bad, good):
        worker.answers(run, FOUND)
        worker.says(run, "settled")
    runs.store._run("UPDATE runs SET answer = ? WHERE id = ?", (damage, bad.id))
    assert [answer["summary"] for answer in runs.store.answers()] == [FOUND]
    assert "damaged" in caplog.text


def test_what_else_the_worker_prints_is_a_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The settings of a project may print; the process is listened to all the same."""
    process = WorkerProcess([], {}, Runs(RunStore(tmp_path)))
    for line in (b"5\n", b"[]\n", b"hello\n", b"{}\n", b"[" * 100_000, b"\xff\n"):
        process._take(line)
    assert len(caplog.records) == 6
    assert not any(record.exc_info for record in caplog.records)


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    folder = StateFolder(tmp_path / "a" / "b")
    token = folder.token()
    folder.token_file.chmod(0o644)
    assert StateFolder(tmp_path / "a" / "b").token() == token
    assert folder.token(new=True) != token
    assert folder.port() == 8765
    folder.keep_port(4711)
    assert StateFolder(tmp_path / "a" / "b").port() == 4711
    RunStore(folder.path)
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()}
    assert {*modes.values()} == {0o600}, modes
    folder.token_file.write_text("short")
    assert len(folder.token()) > 40
    with folder.held(), pytest.raises(InUseError), StateFolder(folder.path).held():
        pass


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"port": "x"}, "--port 'x': expected a number"),
        ({"port": "99999"}, "--port '99999': expected a number"),
        ({"host": "192.0.2.1"}, "--host '192.0.2.1' --port"),  # nobody has it
        ({"host": "no host"}, "--host 'no host'"),
        ({"host": "[2001:db8::1]"}, "--host '2001:db8::1' --port"),  # as in addresses of pages
        ({"host": "[::1"}, "--host '[::1'"),
    ],
)
def test_where_it_cannot_be(tmp_path: Path, given: dict[str, str], words: str) -> None:
    usual = {"dir": str(tmp_path), "port": "0", "host": "127.0.0.1", "new_token": False}
    with pytest.raises(ValueError, match=r"\A.+\Z") as told:
        run_ui(Namespace(**usual | given), [])
    assert words in str(told.value)


@pytest.mark.parametrize("name", ["token", "port", "address"])
def test_what_is_not_a_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    folder = StateFolder(tmp_path)
    read: Callable[[], object] = getattr(folder, name)
    with pytest.raises(OSError, match="it is not a regular file") as told:
        read()
    assert told.value.filename == str(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "value"),
    [("JOBDIR", "x"), ("TPLSPIDER_SEARCHES", "0"), ("TPLSPIDER_NONE", "1")],
)
def test_settings_with_which_it_cannot_search(name: str, value: str) -> None:
    settings = Settings({name: value})
    with pytest.raises(ValueError, match=rf"\A.*{name}.+\Z"):
        check_settings(TemplateCandidatesSpider, settings)


FULL = """
import json, sys
from pathlib import Path
from tests.support.full_disk import short_files
from tests.test_ui_runs import FOUND, Runs, RunStore, Worker, followed, wanted
from tplspider.plugins.ui.store import StoreError
runs = Runs(RunStore(Path(sys.argv[1])))
worker, begun, fault = Worker(runs), [], ""
long = {**FOUND, "hint": "".join(map(chr, range(300, 50_000)))}
def tell(run):
    (told,) = [event["search"] for event in followed(runs, run) if event["event"] == "ended"]
    print(json.dumps([run.state, told["fault"], bool(runs.answer(run)), len(list(runs.answers()))]))
with short_files(400_000):
    while not fault:
        try:
            begun += runs.submit(wanted(*"abcdefgh" * 20))
        except StoreError as error:
            fault = str(error)
    print(json.dumps([fault, len(begun)]))
    for run in begun[:60]:
        worker.says(run, "opened")
        worker.answers(run, long)
    tell(begun[0])
    tell(begun[59])
runs.submit(wanted("a"))  # there is room again
tell(begun[0])
tell(begun[59])
print(json.dumps([len(list(RunStore(Path(sys.argv[1])).answers()))]))
"""


@pytest.mark.slow
def test_a_full_disk_is_a_line(tmp_path: Path) -> None:
    """What is asked for is refused, all or none; what ends is there, and is kept later."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", FULL, str(tmp_path)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    begun, first, last, lost, later, kept = map(json.loads, done.stdout.splitlines())
    assert "cannot be used" in begun[0]
    assert first[0] == "over"
    assert "is lost" in first[1]  # so many are held in memory, and not one more
    assert not first[2]
    assert last[0] == "over"
    assert "cannot be kept" in last[1]
    assert last[2:] == [True, 50]
    assert lost == ["over", first[1], False, 50]  # it stays lost
    assert later == ["over", "", True, 50]
    assert kept == [50]
    assert len(done.stderr.splitlines()) == 1, done.stderr  # the log
    assert len(list(RunStore(tmp_path).runs())) == begun[1] + 1

"""``crawl_job.py`` against ``scrapy crawl`` on one machine: the same rows, and polite."""

from __future__ import annotations

import json
import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import SETTINGS, run_scrapy
from tests.support.many_sites import ManySites
from tests.support.spark_cluster import CLUSTER, OneSpark, environment, has_java

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.many_sites import Asked

pa = pytest.importorskip("pyarrow", reason="pyspark is an extra: pip install -e '.[spark]'")
pytest.importorskip("pyspark", reason="pyspark is an extra: pip install -e '.[spark]'")
pytestmark = [
    pytest.mark.spark,
    pytest.mark.nightly,
    pytest.mark.skipif(not has_java(), reason="Spark needs Java, which is not installed"),
    pytest.mark.filterwarnings("ignore"),  # Spark's, of its own libraries
]

QUICK = {**SETTINGS, "LOG_LEVEL": "WARNING"}
FAULTY = [
    "no JSON",
    '{"own": 1}',
    '{"url": "ftp://x/", "own": 2}',
    '{"url": "http://x/", "tpl_n": 0}',
]
Row = dict[str, Any]


@pytest.fixture(scope="module")
def one_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneSpark]:
    """One Java for all jobs that run in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(tmp_path_factory.mktemp("spark")).items():
            patch.setenv(name, value)
        one = OneSpark()
        yield one
        one.stop()


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[ManySites]:
    with ManySites(tmp_path / "log") as many:
        yield many


def crawl(*words: object, **settings: str) -> int:
    from tplspider.plugins.spark.crawl_job import main

    options = [f"-s{name}={value}" for name, value in {**QUICK, **settings}.items()]
    return main([*map(str, words), *options])


def shown(rows: list[Row]) -> list[str]:
    """Rows in one order, without what depends on which search came first."""
    kept = [{n: v for n, v in row.items() if n not in ("shared", "wasted")} for row in rows]
    return sorted(json.dumps(row, sort_keys=True) for row in kept)


def table(folder: Path, name: str) -> list[Row]:
    paths = sorted((folder / name).glob("part-*"))
    return [json.loads(line) for path in paths for line in path.read_text("utf-8").splitlines()]


def shortest_span(asked: list[Asked], count: int) -> float:
    """The shortest time in which so many requests came to one host."""
    hosts: dict[str, list[float]] = {}
    for each in asked:
        hosts.setdefault(each.host, []).append(each.at)
    return min(
        last - first
        for times in hosts.values()
        for first, last in zip(times, times[count - 1 :], strict=False)
    )


def crawls() -> dict[int, int]:
    """The crawls that run now: their processes, with the processes of their tasks."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            if (name := b"tplspider.plugins.spark.child") in words:
                found[int(path.name)] = int(words[words.index(name) + 1])
    return found


def kill_one(sites: ManySites, requests: int, *, task: bool) -> Thread:
    """Kill a crawl, or its task, when so many requests have come; the thread that does it."""

    def kill() -> None:
        while len(sites.asked()) < requests or not crawls():
            time.sleep(0.05)
        crawl, worker = crawls().popitem()
        os.kill(worker if task else crawl, signal.SIGKILL)
        started = time.monotonic()
        while crawl in crawls():
            assert time.monotonic() < started + 5
            time.sleep(0.01)
        killed.append(crawl)

    killed: list[int] = []
    thread = Thread(target=kill, daemon=True)
    thread.killed = killed  # type: ignore[attr-defined]
    thread.start()
    return thread


def test_the_rows_of_one_machine_when_a_worker_is_killed(
    sites: ManySites, one_spark: OneSpark, tmp_path: Path
) -> None:
    rows = sites.write_list(tmp_path / "keys.jl", 24, 8)
    with (tmp_path / "keys.jl").open("a") as file:
        file.writelines(f"{line}\n" for line in [*FAULTY, json.dumps(rows[0])])
    words = ["crawl", "template_candidates", f"-aurls={tmp_path / 'keys.jl'}"]
    words += ["-O", str(tmp_path / "candidates.jl"), f"-asummary={tmp_path / 'summaries.jl'}"]
    run_scrapy(*words, f"-atexts={tmp_path / 'texts.jl'}", folder=tmp_path)
    before = len(sites.asked())
    one_spark.start(CLUSTER)
    killer = kill_one(sites, before + 30, task=True)
    delays = {"DOWNLOAD_DELAY": "0.5", "DOWNLOAD_DELAY_JITTER": "0"}
    output = ("--texts", "--output_format=json", tmp_path / "out")
    assert crawl("--keys", tmp_path / "keys.jl", *output, **delays) == 0
    killer.join(10)
    assert killer.killed  # type: ignore[attr-defined]
    for name in ("candidates", "summaries", "texts"):
        expected = (tmp_path / f"{name}.jl").read_text("utf-8").splitlines()
        assert shown(table(tmp_path / "out", name)) == shown([*map(json.loads, expected)]), name
    # Two crawls would need 1.25 s; a busy machine may hand single requests on too late.
    assert shortest_span(sites.asked()[before:], 6) > 1.8
    assert not any((tmp_path / "out" / "_work" / name).exists() for name in ("lines", "rows"))


def test_parquet_and_a_crawl_that_is_killed(
    sites: ManySites, one_spark: OneSpark, tmp_path: Path
) -> None:
    from pyarrow import parquet

    rows = sites.key_pages(6, 3)
    cells = [f"{row['url']},{row['id']},=1+1" for row in rows]
    (tmp_path / "keys.csv").write_text("\n".join(["page,id,own", *cells, "x,y"]))
    one_spark.start()
    killer = kill_one(sites, 6, task=False)
    words = ("--keys", tmp_path / "keys.csv", "-acolumn=page", "-an=2", "--num_partitions=1")
    assert crawl(*words, tmp_path / "out", DOWNLOAD_DELAY="0.2") == 0
    killer.join(10)
    assert killer.killed  # type: ignore[attr-defined]
    found = parquet.read_table(tmp_path / "out" / "summaries").sort_by("line").to_pylist()
    assert [row["requested_url"] for row in found] == [*(row["url"] for row in rows), "x"]
    assert [row["key_outcome"] for row in found] == ["ok"] * 6 + ["bad-input"]
    assert json.loads(found[0]["input"]) == {"id": rows[0]["id"], "own": "=1+1"}
    assert found[0]["explored"][0]["links_to"]
    candidates = parquet.read_table(tmp_path / "out" / "candidates").to_pylist()
    assert len(candidates) == sum(row["cs_size"] for row in found)
    assert {type(row["similarity"]) for row in candidates} == {float}


def test_lines_that_a_crawl_leaves_over_have_rows(sites: ManySites) -> None:
    from tplspider.plugins.spark.crawl_job import CrawlTask

    lines = [
        {"number": number, "line": json.dumps(row), "answer": None}
        for number, row in enumerate(sites.key_pages(40, 40), start=7)
    ]
    words = [f"-s{name}={value}" for name, value in QUICK.items()]
    words.append("-sCLOSESPIDER_ITEMCOUNT=1")
    command = ("crawl", "template_candidates", "-aurls=")
    task = CrawlTask(command, tuple(words), "url", ("candidates", "summaries"))
    found = list(task.batches(iter([pa.RecordBatch.from_pylist(lines)])))
    rows = [row for batch in found for row in batch.to_pylist() if row["table"] == "summaries"]
    summaries = [json.loads(row["row"]) for row in rows]
    assert sorted(row["line"] for row in summaries) == list(range(7, 47))
    assert {"ok", "crashed"} <= {row["key_outcome"] for row in summaries}
    assert all(row["input"]["id"] for row in summaries)


def test_hosts_of_a_domain_go_together_if_any_line_asks_for_it(tmp_path: Path) -> None:
    from tplspider.keylist import KeyList
    from tplspider.plugins.spark.crawl_job import line_rows
    from tplspider.search.session import SearchOptions

    urls = ["https://www.Example.co.uk/", "http://example.co.uk.:8080/x", "http://a.example.co.uk"]
    (tmp_path / "keys.txt").write_text("\n".join(urls))
    rows = list(line_rows(KeyList(str(tmp_path / "keys.txt")), SearchOptions(scope="domain")))
    assert [row["host"] for row in rows] == ["example.co.uk"] * 2 + ["a.example.co.uk"]
    assert {row["domain"] for row in rows} == {"example.co.uk"}
    assert {row["scope"] for row in rows} == {"domain"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--keys", "{tmp}/gone.txt", "{tmp}/out"), "urls: "),
        (("--keys", "{tmp}/keys.txt", "-aurl=http://x/", "{tmp}/out"), "-a url"),
        (("--keys", "{tmp}/keys.txt", "-an=0", "{tmp}/out"), "n: "),
        (("--keys", "{tmp}/keys.txt", "-sTPLSPIDER_SEARCHES=x", "{tmp}/out"), "TPLSPIDER_SEARCHES"),
        (("--keys", "{tmp}/keys.txt", "{tmp}"), "{tmp}"),
    ],
)
def test_wrong_use(
    words: tuple[str, ...],
    told: str,
    one_spark: OneSpark,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one_spark.start()
    (tmp_path / "keys.txt").write_text("http://site-1.test/\n")
    with pytest.raises(SystemExit) as end:
        crawl(*(word.format(tmp=tmp_path) for word in words))
    assert end.value.code == 2
    assert told.format(tmp=tmp_path) in capsys.readouterr().err
    assert not (tmp_path / "out").exists()

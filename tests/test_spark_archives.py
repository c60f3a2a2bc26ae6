"""``search_job.py`` and ``strip_job.py`` against one machine: the same rows."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from random import Random
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from tests.support.crawls import run_scrapy
from tests.support.made_up_sites import MadeUpSource, key_pages
from tests.support.spark_cluster import CLUSTER, OneSpark, environment, has_java
from tests.support.warc_files import SiteRecords, packed, response
from tests.test_spark_crawl import crawls, shown, table

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("pyspark", reason="pyspark is an extra: pip install -e '.[spark]'")
pytestmark = [
    pytest.mark.spark,
    pytest.mark.nightly,
    pytest.mark.skipif(not has_java(), reason="Spark needs Java, which is not installed"),
    pytest.mark.filterwarnings("ignore"),  # Spark's, of its own libraries
]

SITES = 4
JSON = ("--output_format=json",)


class Archive:
    """WARC files with pages of all sites in each, and a list; a key page redirects elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.folder, random = folder, Random(5)
        parts: list[list[bytes]] = [[], [], []]
        for number in range(SITES):
            start = [f"http://site-{number}.test:80/"]
            for each in list(SiteRecords(MadeUpSource(), start))[1:]:
                if number or random.random() > 0.8:  # of one site, little is there
                    random.choice(parts).append(each)
        to = "http://site-2.test:80/"
        parts[0].append(response("http://moved.test/", "", "301 Moved", Location=to))
        self.files = [folder / f"part-{number}.warc.gz" for number in range(len(parts))]
        for path, records in zip(self.files, parts, strict=True):
            path.write_bytes(packed(records))
        self.manifest = folder / "manifest.txt"
        self.manifest.write_text("# all\n" + "".join(f"{path}\n" for path in self.files))
        rows = [*key_pages(12, SITES, 80), {"url": "http://moved.test/"}, {"url": "http://no.test"}]
        self.keys = folder / "keys.jl"
        self.keys.write_text("".join(f"{json.dumps(row)}\n" for row in rows) + "no JSON\n")


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return Archive(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def one_spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneSpark]:
    """One Java for all jobs that run in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment(tmp_path_factory.mktemp("spark")).items():
            patch.setenv(name, value)
        one = OneSpark()
        yield one
        one.stop()


def search(*words: object) -> int:
    from tplspider.plugins.spark.search_job import main

    return main([*map(str, words)])


def strip(*words: object) -> int:
    from tplspider.plugins.spark.strip_job import main

    return main([*map(str, words)])


def strippers() -> dict[int, int]:
    """The processes that strip pages for a task, with those of their tasks."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            is_child = b"tplspider.extraction" in (path / "cmdline").read_bytes()
            if is_child and b"pyspark" in Path(f"/proc/{parent}/cmdline").read_bytes():
                found[int(path.name)] = parent
        except OSError:
            continue
    return found


def kill_a_task(*, strips: bool) -> tuple[Thread, list[int]]:
    """Kill a worker of Spark's as soon as it has a child."""

    def kill() -> None:
        while not (busy := strippers() if strips else crawls()):
            time.sleep(0.02)
        worker = next(iter(busy.values()))
        os.kill(worker, signal.SIGKILL)
        killed.append(worker)

    killed: list[int] = []
    thread = Thread(target=kill, daemon=True)
    thread.start()
    return thread, killed


def test_searches_give_the_rows_of_one_machine_when_a_worker_is_killed(
    archive: Archive, one_spark: OneSpark, tmp_path: Path
) -> None:
    names = {"-O": "candidates.jl", "--summary": "summaries.jl", "--texts": "texts.jl"}
    words = [word for option, name in names.items() for word in (option, str(tmp_path / name))]
    words += ["-i", str(archive.keys), "--index", str(tmp_path / "index")]
    run_scrapy("archive", *map(str, archive.files), *words, folder=tmp_path)
    one_spark.start(CLUSTER)
    killer, killed = kill_a_task(strips=False)
    given = ("--keys", archive.keys, archive.manifest)
    assert search(*given, "--texts", *JSON, tmp_path / "out") == 0
    killer.join(10)
    assert killed
    for name in names.values():
        expected = (tmp_path / name).read_text("utf-8").splitlines()
        found = table(tmp_path / "out", name.removesuffix(".jl"))
        assert shown(found) == shown([*map(json.loads, expected)]), name
    summaries = {row["requested_url"]: row for row in table(tmp_path / "out", "summaries")}
    assert summaries["http://moved.test/"]["key_outcome"] == "ok"
    assert summaries["http://no.test"]["key_outcome"] == "not-archived"
    assert {row["key_outcome"] for row in summaries.values()} >= {"bad-input"}


def test_pages_are_stripped_as_on_one_machine_when_a_worker_is_killed(
    archive: Archive, one_spark: OneSpark, tmp_path: Path
) -> None:
    index = ("--index", str(tmp_path / "index"))
    feed = ("-O", str(tmp_path / "pages.jl"))
    run_scrapy("strip", *map(str, archive.files), *index, *feed, folder=tmp_path)
    one_spark.start(CLUSTER)
    killer, killed = kill_a_task(strips=True)
    given = (*index, *JSON, archive.manifest, tmp_path / "out")
    assert strip(*given) == 0  # an index that is there is used
    killer.join(10)
    assert killed
    expected = (tmp_path / "pages.jl").read_text("utf-8").splitlines()
    assert shown(table(tmp_path / "out", "pages")) == shown([*map(json.loads, expected)])


def test_bad_files_are_rows(archive: Archive, one_spark: OneSpark, tmp_path: Path) -> None:
    from pyarrow import parquet

    (tmp_path / "no.warc.gz").write_bytes(b"this is not a WARC file")
    cut = archive.files[0].read_bytes()
    (tmp_path / "cut.warc.gz").write_bytes(cut[: len(cut) // 2])
    names = [tmp_path / "no.warc.gz", tmp_path / "gone.warc.gz", tmp_path / "cut.warc.gz"]
    names += archive.files[1:]
    (tmp_path / "manifest.txt").write_text("\n".join(map(str, names)))
    (tmp_path / "keys.txt").write_text("http://site-1.test:80/\n")
    one_spark.start()
    given = ("--keys", tmp_path / "keys.txt", tmp_path / "manifest.txt", tmp_path / "out")
    assert search(*given, "--num_partitions=1") == 0
    rows = parquet.read_table(tmp_path / "out" / "files").to_pylist()
    found = {Path(row["path"]).name: row for row in rows}
    assert found.keys() == {path.name for path in names}
    assert [found[path.name]["records"] > 0 for path in names] == [False, False, True, True, True]
    assert json.loads(found["gone.warc.gz"]["faults"])
    assert json.loads(found["cut.warc.gz"]["faults"]) == {"cut off": 1}
    (summary,) = parquet.read_table(tmp_path / "out" / "summaries").to_pylist()
    assert summary["key_outcome"] == "ok"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("", ()),
        ("s3://bucket/a.warc.gz", ()),
        ("gone.warc.gz", ()),
        ("a.warc.gz", ("--index", "hdfs://x/index")),
    ],
)
def test_wrong_use(
    names: str, words: tuple[str, ...], archive: Archive, one_spark: OneSpark, tmp_path: Path
) -> None:
    one_spark.start()
    (tmp_path / "manifest.txt").write_text(names)
    with pytest.raises(SystemExit) as end:
        strip(*words, tmp_path / "manifest.txt", tmp_path / "out")
    assert end.value.code == 2

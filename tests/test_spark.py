import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest

from tests.support.crawls import PROJECT, SETTINGS, run_scrapy
from tests.support.made_up_sites import MadeUpSource, key_pages
from tests.support.many_sites import Asked, ManySites
from tests.support.warc_files import SiteRecords, packed, response

pa = pytest.importorskip("pyarrow", reason="pyspark is an extra: pip install -e '.[spark]'")
pytest.importorskip("pyspark", reason="pyspark is an extra: pip install -e '.[spark]'")
pytestmark = [
    pytest.mark.spark,
    pytest.mark.nightly,
    pytest.mark.skipif(
        not (os.environ.get("JAVA_HOME") or shutil.which("java")),
        reason="Spark needs Java, which is not installed",
    ),
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


# For small tables and short lives: what is compiled well is not used for long enough to pay.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SPARK = {
    "spark.ui.enabled": "false",
    "spark.log.level": "WARN",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "700m",
    "spark.driver.extraJavaOptions": _JAVA,
    "spark.executor.extraJavaOptions": _JAVA,
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.port.maxRetries": "100",
}


@pytest.fixture(scope="module", autouse=True)
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Spark's own master and two workers, for all jobs that run in this process.

    Their executors, with a core each, are processes of their own, as are the Pythons of these.
    """
    from pyspark.find_spark_home import _find_spark_home
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    variables = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_WORKER_DIR": str(folder / "work"),
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        builder = SparkSession.builder.master("local-cluster[2,1,512]")
        for setting, value in SPARK.items():
            builder = builder.config(setting, value)
        session = builder.getOrCreate()
        name = session.sparkContext.applicationId
        yield
        session.stop()
        # Workers of a cluster keep what executors write beside Spark itself.
        shutil.rmtree(Path(_find_spark_home(), "work", name), ignore_errors=True)


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


def processes(word: bytes) -> dict[int, int]:
    """The processes with a word in their command that tasks of Spark have started, and these."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            is_wanted = word in (path / "cmdline").read_bytes()
            if is_wanted and b"pyspark" in Path(f"/proc/{parent}/cmdline").read_bytes():
                found[int(path.name)] = parent
    return found


def crawls() -> dict[int, int]:
    return processes(b"-sJOBDIR=")


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


def test_the_rows_of_one_machine_when_a_worker_is_killed(sites: ManySites, tmp_path: Path) -> None:
    rows = sites.write_list(tmp_path / "keys.jl", 24, 8)
    with (tmp_path / "keys.jl").open("a") as file:
        file.writelines(f"{line}\n" for line in [*FAULTY, json.dumps(rows[0])])
    words = ["crawl", "template_candidates", f"-aurls={tmp_path / 'keys.jl'}"]
    words += ["-O", str(tmp_path / "candidates.jl"), f"-asummary={tmp_path / 'summaries.jl'}"]
    run_scrapy(*words, f"-atexts={tmp_path / 'texts.jl'}", folder=tmp_path)
    before = len(sites.asked())
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


def test_parquet_and_a_crawl_that_is_killed(sites: ManySites, tmp_path: Path) -> None:
    from pyarrow import parquet

    rows = sites.key_pages(6, 3)
    cells = [f"{row['url']},{row['id']},=1+1" for row in rows]
    (tmp_path / "keys.csv").write_text("\n".join(["page,id,own", *cells, "x,y"]))
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


def search(*words: object) -> int:
    from tplspider.plugins.spark.search_job import main

    return main([*map(str, words)])


def strip(*words: object) -> int:
    from tplspider.plugins.spark.strip_job import main

    return main([*map(str, words)])


def strippers() -> dict[int, int]:
    return processes(b"tplspider.extraction")


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


def test_searches_are_those_of_one_machine_after_a_kill(archive: Archive, tmp_path: Path) -> None:
    names = {"-O": "candidates.jl", "--summary": "summaries.jl", "--texts": "texts.jl"}
    words = [word for option, name in names.items() for word in (option, str(tmp_path / name))]
    words += ["-i", str(archive.keys), "--index", str(tmp_path / "index")]
    run_scrapy("archive", *map(str, archive.files), *words, folder=tmp_path)
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


def test_pages_are_those_of_one_machine_after_a_kill(archive: Archive, tmp_path: Path) -> None:
    index = ("--index", str(tmp_path / "index"))
    feed = ("-O", str(tmp_path / "pages.jl"))
    run_scrapy("strip", *map(str, archive.files), *index, *feed, folder=tmp_path)
    killer, killed = kill_a_task(strips=True)
    given = (*index, *JSON, archive.manifest, tmp_path / "out")
    assert strip(*given) == 0  # an index that is there is used
    killer.join(10)
    assert killed
    expected = (tmp_path / "pages.jl").read_text("utf-8").splitlines()
    assert shown(table(tmp_path / "out", "pages")) == shown([*map(json.loads, expected)])


def test_bad_files_are_rows(archive: Archive, tmp_path: Path) -> None:
    from pyarrow import parquet

    (tmp_path / "no.warc.gz").write_bytes(b"this is not a WARC file")
    cut = archive.files[0].read_bytes()
    (tmp_path / "cut.warc.gz").write_bytes(cut[: len(cut) // 2])
    names = [tmp_path / "no.warc.gz", tmp_path / "gone.warc.gz", tmp_path / "cut.warc.gz"]
    names += archive.files[1:]
    (tmp_path / "manifest.txt").write_text("\n".join(map(str, names)))
    (tmp_path / "keys.txt").write_text("http://site-1.test:80/\n")
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


def test_wrong_use(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keys, manifest, out = tmp_path / "keys.txt", tmp_path / "manifest.txt", tmp_path / "out"
    keys.write_text("http://site-1.test/\n")
    manifest.write_text("s3://bucket/a.warc.gz")
    wrong: list[tuple[Callable[..., int], tuple[object, ...], str]] = [
        (crawl, ("--keys", tmp_path / "gone.txt", out), "urls: "),
        (crawl, ("--keys", keys, "-aurl=http://x/", out), "-a url"),
        (crawl, ("--keys", keys, "-sTPLSPIDER_SEARCHES=x", out), "TPLSPIDER_SEARCHES"),
        (crawl, ("--keys", keys, tmp_path), str(tmp_path)),
        (strip, (manifest, out), "paths that all workers have"),
    ]
    for job, words, told in wrong:
        with pytest.raises(SystemExit) as end:
            job(*words)
        assert end.value.code == 2
        assert told in capsys.readouterr().err
        assert not out.exists()

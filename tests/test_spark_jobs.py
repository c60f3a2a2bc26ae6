"""The Spark jobs against ``scrapy archive`` and ``scrapy strip`` on one machine: the same rows."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import PROJECT, run_scrapy
from tests.support.made_up_sites import MadeUpSource, key_pages
from tests.support.spark_cluster import CLUSTER, OneSpark, environment, has_java
from tests.support.warc_files import SiteRecords, http, packed, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("pyspark", reason="pyspark is an extra: pip install -e '.[spark]'")
pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not has_java(), reason="Spark needs Java, which is not installed"),
    pytest.mark.filterwarnings("ignore"),  # what Spark has to say of its own libraries
]

SITES, KEYS = 6, 16
DATED = "http://dated.test"
Row = dict[str, Any]


def dated_records() -> list[bytes]:
    """A page that has a link more each year, and one that is the same as it was in the first."""
    kind = {"Content_Type": "application/http"}
    links = [f"<a href='/{number}'>{number}</a>" for number in range(9)]
    found = [
        record("response", f"{DATED}/", http("".join(links[: year - 2000]).encode()), **kind,
               WARC_Date=f"{year}-01-01T00:00:00Z")
        for year in range(2001, 2010)
    ]  # fmt: skip
    told = {
        "WARC_Refers_To_Target_URI": f"{DATED}/",
        "WARC_Refers_To_Date": "2001-01-01T00:00:00Z",
    }
    return [*found, record("revisit", f"{DATED}/same", http(b""), **kind, **told)]


class Archive:
    """Some WARC files with pages of all sites in each; of every third site a part is missing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        random, parts = Random(5), [list[bytes](), list[bytes](), list[bytes]()]
        for number in range(SITES):
            for each in list(SiteRecords(MadeUpSource(), [f"http://site-{number}.test:80/"]))[1:]:
                if number % 3 or random.random() > 0.8:
                    random.choice(parts).append(each)
        parts[0] += dated_records()
        self.files = [folder / f"part-{number}.warc.gz" for number in range(len(parts))]
        for path, records in zip(self.files, parts, strict=True):
            path.write_bytes(packed(records))
        self.manifest = folder / "manifest.txt"
        self.manifest.write_text("".join(f"{path.name}\n" for path in self.files))
        self.keys = folder / "keys.jl"
        rows = key_pages(KEYS, SITES, 80)
        for row in rows[::2]:
            row["strategy"] = "guided"
        rows += [rows[0], {"url": "http://gone.test/"}, {"url": f"{DATED}/same"}]
        lines = [json.dumps(row) for row in rows]
        self.keys.write_text("\n".join([*lines, '{"url": "ftp://x/"}', "no JSON"]) + "\n")

    def on_one_machine(self, *words: object) -> dict[str, list[str]]:
        """The rows of ``scrapy archive``."""
        names = {"-O": "candidates.jl", "--summary": "summary.jl", "--template": "template.jl"}
        outputs = [word for each in names.items() for word in (each[0], self.folder / each[1])]
        run_scrapy("archive", *map(str, [*self.files, *words, *outputs]), folder=self.folder)
        return {
            name.removesuffix(".jl"): lines(
                json.loads(line) for line in (self.folder / name).read_text("utf-8").splitlines()
            )
            for name in names.values()
        }


def lines(rows: Any) -> list[str]:
    """Rows to be compared, in one order."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows)


def table(output: Path, name: str) -> list[Row]:
    """The rows of a table in JSON lines, each with its place in the archive."""
    found = []
    for path in (output / name).glob("part-*.json"):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            if row.get("input"):
                row["input"] = json.loads(row["input"])
            found.append(row)
    return found


def without_places(rows: list[Row]) -> list[str]:
    places = ("warc_filename", "warc_record_offset")
    return lines({n: v for n, v in row.items() if n not in places} for row in rows)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return Archive(tmp_path_factory.mktemp("archive"))


@pytest.fixture(scope="module")
def expected(archive: Archive) -> dict[str, list[str]]:
    """What one machine says of the list."""
    return archive.on_one_machine("-i", archive.keys)


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
def spark(one_spark: OneSpark) -> None:
    one_spark.start()


def search(*words: object) -> int:
    from tplspider.spark.search_job import main

    return main([str(word) for word in words])


JSON = ("--output_format", "json", "--output_compression", "none")
FEW = ("--num_work_partitions", 2)


@pytest.mark.usefixtures("spark")
def test_a_list_gives_the_rows_of_one_machine(
    archive: Archive, expected: dict[str, list[str]], tmp_path: Path
) -> None:
    base, output = ("--input_base_url", archive.folder), tmp_path / "out"
    words = ("--keys", archive.keys, "--template", *base, *JSON, *FEW, archive.manifest, output)
    assert search(*words) == 0
    found = {name: table(output, name) for name in expected}
    assert {name: without_places(rows) for name, rows in found.items()} == expected
    assert sorted(each.name for each in output.iterdir()) == ["candidates", "summary", "template"]
    outcomes = {row["key_outcome"] for row in found["summary"]}
    assert {"ok", "not-archived", "bad-input"} <= outcomes
    assert {row["method"] for row in found["template"]} == {"search", "pool"}
    # What is named by its date is none of the best captures of its address.
    (same,) = (row for row in found["summary"] if row["requested_url"] == f"{DATED}/same")
    assert (same["key_outcome"], same["links"]) == ("ok", 1)
    # Rows lead back to the records.
    names = {path.name for path in archive.files}
    assert {row["warc_filename"] for row in found["candidates"]} <= names
    row = next(row for row in found["candidates"])
    data = (archive.folder / row["warc_filename"]).read_bytes()[row["warc_record_offset"] :]
    assert data.startswith(b"\x1f\x8b")


@pytest.mark.usefixtures("spark")
def test_some_of_each_host_by_a_columnar_index(
    archive: Archive, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    from tplspider.sources.warc_extra import ArchiveIterator, WarcRecordType

    rows = []
    for path in archive.files:
        with path.open("rb") as file:
            places = [
                (
                    record.stream_pos,
                    record.headers.get("WARC-Target-URI"),
                    record.http_headers.status_code,
                    record.http_headers.get("Content-Type") or "",
                )
                for record in ArchiveIterator(file, record_types=WarcRecordType.response)
            ]
        ends = [place[0] for place in places[1:]] + [path.stat().st_size]
        rows += [
            {
                "url": url,
                "warc_filename": path.name,
                "warc_record_offset": place,
                "warc_record_length": end - place,
                "fetch_status": status,
                "content_mime_type": kind.partition(";")[0],
            }
            for (place, url, status, kind), end in zip(places, ends, strict=True)
        ]
    # What an index may have besides: rows without a place, and numbers that are none.
    faulty = [{**rows[0], name: None} for name in ("url", "warc_filename", "warc_record_offset")]
    faulty += [{**rows[0], "warc_record_length": -1}]
    for each in (row for row in rows if row["content_mime_type"] == "text/html"):
        each["content_mime_type"] = "unk"
    for each in (*rows, *faulty):
        each["fetch_status"] = str(each["fetch_status"])
        each["fetch_time"] = "yesterday"
    parquet.write_table(pa.Table.from_pylist([*rows, *faulty]), tmp_path / "index.parquet")
    expected = archive.on_one_machine(
        "--every", 2, "--host", "site-4.test", "--host", "site-3.test"
    )
    words = ("--every", 2, "--host", "site-4.test", "--host", "www.site-3.test", "--template")
    base = ("--input_base_url", archive.folder.as_uri())
    indexed = ("--columnar_index", tmp_path / "index.parquet")
    assert search(*words, *base, *JSON, *FEW, *indexed, tmp_path / "out") == 0
    found = {name: without_places(table(tmp_path / "out", name)) for name in expected}
    assert found == expected
    assert len(found["summary"]) == 4
    told = capsys.readouterr().err
    for name in ("url", "file", "offset"):
        assert f": a row without {name} (" in told
    assert ": there is no such place (" in told


@pytest.mark.usefixtures("spark")
def test_records_that_cannot_be_fetched_are_told_and_settings_are_given_back(
    archive: Archive, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import pyarrow as pa
    from pyarrow import parquet
    from pyspark.sql import SparkSession

    from tplspider.spark.strip_job import main

    place = {"warc_record_offset": 0, "warc_record_length": 9}
    good = {"url": f"{DATED}/", "warc_filename": archive.files[0].name, **place}
    gone = {"url": "http://gone.test/", "warc_filename": "gone.warc.gz", **place}
    index, base = tmp_path / "index.parquet", ("--input_base_url", archive.folder)
    parquet.write_table(pa.Table.from_pylist([good, gone]), index)
    conf = SparkSession.builder.getOrCreate().conf
    conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    why = f"{archive.folder}/gone.warc.gz: No such file or directory"
    words = ("--every", 1, *base, *JSON, *FEW, "--columnar_index", index)
    assert search(*words, tmp_path / "out") == 1
    assert f"tplspider: 1 record cannot be fetched: {why}" in capsys.readouterr().err
    hints = {row["line"]: row["hint"] for row in table(tmp_path / "out", "summary")}
    # That of the other is no record at all: a matter of the index.
    assert hints == {1: f"{archive.files[0].name} at 0: this is not what the index says", 2: why}
    outcomes = {row["key_outcome"] for row in table(tmp_path / "out", "summary")}
    assert outcomes == {"unreadable"}
    more = map(str, (*base, *FEW, "--columnar_index", index, tmp_path / "stripped"))
    assert main([*more]) == 1
    told = capsys.readouterr().err
    assert "2 pages: 2 unreadable" in told
    assert f"cannot be fetched: {why}" in told
    names = parquet.read_table(tmp_path / "stripped" / "pages").column_names
    assert "unread" not in names
    assert conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    assert conf.get("spark.sql.execution.arrow.maxRecordsPerBatch") == "10000"


@pytest.mark.usefixtures("spark")
def test_every_page_is_stripped_as_on_one_machine(archive: Archive, tmp_path: Path) -> None:
    from pyarrow import parquet

    from tplspider.spark.strip_job import main

    run_scrapy("strip", *map(str, archive.files), "-O", str(tmp_path / "pages.jl"), folder=tmp_path)
    expected = []
    for line in (tmp_path / "pages.jl").read_text("utf-8").splitlines():
        row = json.loads(line)
        place = {"warc_filename": row.pop("path"), "warc_record_offset": row.pop("offset")}
        expected.append({**row, **place})
    base, few = ("--input_base_url", str(archive.folder)), map(str, FEW)
    assert main([*base, *few, str(archive.manifest), str(tmp_path / "out")]) == 0
    found = parquet.read_table(tmp_path / "out" / "pages").to_pylist()
    assert lines(found) == lines(expected)


@pytest.mark.usefixtures("spark")
def test_bad_files_and_what_kills_python_cost_their_rows(
    archive: Archive, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "no.warc.gz").write_bytes(b"this is not a WARC file")
    cut = archive.files[0].read_bytes()
    (tmp_path / "cut.warc.gz").write_bytes(cut[: len(cut) // 2])
    bad = [tmp_path / "no.warc.gz", tmp_path / "gone.warc.gz", tmp_path / "cut.warc.gz"]
    manifest = tmp_path / "manifest.txt"
    manifest.write_text("".join(f"{name}\r\n" for name in [*bad, "", *archive.files[1:]]))
    keys, output = tmp_path / "keys.txt", tmp_path / "out"
    keys.write_text("".join(f"http://site-{number}.test:80/\n" for number in (1, 2)))
    deadly = ("--template", "--extractor", "tests.support.odd_extractors.deadly")
    alone = ("--num_work_partitions", 1)
    assert search("--keys", keys, *deadly, *alone, *JSON, manifest, output) == 0
    told = capsys.readouterr().err
    assert f"{bad[0]}: there is no page in it, or it is not a WARC file" in told
    assert f"{bad[1]}: No such file or directory" in told
    assert f"{bad[2]}: " in told
    assert "2 of 5 files gave nothing" in told
    assert "http://site-1.test:80/: the search, or its template, killed the process" in told
    assert "; 1 without a template, or failed" in told
    outcomes = {row["line"]: row["key_outcome"] for row in table(output, "summary")}
    assert outcomes == {1: "ok", 2: "ok"}
    found = {row["requested_url"] for row in table(output, "candidates")}
    assert found == {f"http://site-{number}.test:80/" for number in (1, 2)}
    assert [row["key_url"] for row in table(output, "template")] == ["http://site-2.test:80/"]


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--keys", "{keys}", "{manifest}", "{exists}"), "{exists}: it exists already"),
        (("--keys", "{keys}", "{gone}", "{out}"), "{gone}: there is no such file"),
        (
            ("--keys", "{keys}", "--output_compression", "zip", "{manifest}", "{out}"),
            "the output cannot be written: ",
        ),
        (("--keys", "{keys}", "{empty}", "{out}"), "{empty}: there is no file in this manifest"),
        (("--keys", "{keys}", "{nothing}", "{out}"), "there is no page in any of the files"),
        (
            (
                "--every",
                "1",
                "--host",
                "x.test",
                "--input_base_url",
                "{folder}",
                "{manifest}",
                "{out}",
            ),
            "--host x.test: no page of it is archived",
        ),
    ],
)
def test_what_cannot_be_done_is_one_line(
    words: tuple[str, ...],
    line: str,
    archive: Archive,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = {name: tmp_path / name for name in ("out", "exists", "gone", "empty", "nothing")}
    names["exists"].mkdir()
    names["empty"].write_text("# nothing\n\n")
    names["nothing"].write_text(f"{tmp_path / 'gone.warc'}\n")
    told = {**names, "keys": archive.keys, "manifest": archive.manifest, "folder": archive.folder}
    assert search(*(word.format(**told) for word in words)) == 2
    assert line.format(**told) in capsys.readouterr().err
    assert not names["out"].exists()


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("in", "out"), "give key pages: a list with --keys FILE, or some of each host"),
        (("--every", "0", "in", "out"), "--every 0: expected a whole number, 1 or more"),
        (("--every", "1001", "in", "out"), "--every 1001: expected no more than 1000"),
        (("--keys", "/gone", "in", "out"), "--keys '/gone'"),
        (("--keys", "x", "-a", "m=3", "in", "out"), "unknown argument 'm'"),
        (("--keys", "x", "-n", "0", "in", "out"), "n='0': expected a whole number"),
        (("--keys", "{keys}", "--host", "x.test", "in", "out"), "no key page of the list is of"),
    ],
)
def test_wrong_use_is_told_before_spark_starts(
    words: tuple[str, ...], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keys = tmp_path / "keys.txt"
    keys.write_text("http://site-1.test:80/\n")
    with pytest.raises(SystemExit) as end:
        search(*(word.format(keys=keys) for word in words))
    assert end.value.code == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert line in told


def test_spark_submit_has_no_standard_input(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")  # as it does
    with pytest.raises(SystemExit) as end:
        search("--keys", "-", "in", "out")
    assert end.value.code == 2
    assert "spark-submit passes no standard input on" in capsys.readouterr().err


@pytest.mark.usefixtures("spark")
def test_somebody_elses_spark_is_known_in_all_threads() -> None:
    from tplspider.spark.session import start_spark

    with ThreadPoolExecutor(1) as other:
        _, is_new = other.submit(start_spark, "a job").result()
    assert not is_new


@pytest.mark.usefixtures("spark")
def test_rows_are_dealt_out_in_one_order() -> None:
    from pyspark.sql import SparkSession
    from pyspark.sql import functions as sql

    from tplspider.spark.tables import in_order

    rows = SparkSession.builder.getOrCreate().range(30).withColumn("odd", sql.col("id") % 2)
    listed = in_order(sql.col("id")).alias("all")
    found = {
        tuple(row["all"])
        for order in (sql.asc("id"), sql.desc("id"))
        for row in rows.coalesce(1).sort(order).groupBy("odd").agg(listed).collect()
    }
    assert found == {tuple(range(0, 30, 2)), tuple(range(1, 30, 2))}


@pytest.mark.usefixtures("spark")
def test_java_that_ends_leaves_the_tables_that_were_written(tmp_path: Path) -> None:
    from pyspark.sql import SparkSession

    from tplspider.spark.job_arguments import job_parser
    from tplspider.spark.tables import OutputFolder

    session = SparkSession.builder.getOrCreate()
    arguments = job_parser("", "").parse_args(["in", "out"])
    for name in ("begun", "written"):
        output = OutputFolder(session, str(tmp_path / name))
        kept = output.keep(session.range(3), "kept")
        if name == "written":
            output.write(kept, "summary", arguments)
    # Which is what Java does when it is ended.
    jvm: Any = session.sparkContext._jvm
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()
    assert [each.name for each in tmp_path.iterdir()] == ["written"]
    assert [each.name for each in (tmp_path / "written").iterdir()] == ["summary"]


def test_no_java_is_one_line(tmp_path: Path, archive: Archive) -> None:
    script = PROJECT / "tplspider" / "spark" / "search_job.py"
    done = subprocess.run(
        [sys.executable, script, "--keys", archive.keys, archive.manifest, tmp_path / "out"],
        env=environment(tmp_path, JAVA_HOME=str(tmp_path / "none")),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    (line,) = (line for line in done.stderr.splitlines() if line.startswith("tplspider:"))
    assert "Spark needs Java" in line
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


# Makes workers, which are started as modules, believe that they are of another version.
FAKE = """
import sys
class Version(tuple):
    major, minor, micro = 3, 10, 0
if "-m" in sys.orig_argv:
    sys.version_info = Version((3, 10, 0, "final", 0))
"""


@pytest.mark.parametrize(
    ("start", "line"),
    [
        ("PYTHONPATH={folder}:$PYTHONPATH exec {python}", "have another Python than the driver"),
        ("exec {python} -S", "have no module"),  # without its packages
    ],
)
def test_workers_that_will_not_do_are_one_line(
    start: str,
    line: str,
    one_spark: OneSpark,
    archive: Archive,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "sitecustomize.py").write_text(FAKE)
    other = tmp_path / "other"
    other.write_text(f'#!/bin/sh\n{start.format(folder=tmp_path, python=sys.executable)} "$@"\n')
    other.chmod(0o755)
    one_spark.start(python=str(other))
    assert search("--keys", archive.keys, archive.manifest, tmp_path / "out") == 2
    (told,) = capsys.readouterr().err.splitlines()
    assert told.startswith(f"tplspider: the workers {line}")
    assert not (tmp_path / "out").exists()


def test_two_workers_one_of_them_killed(
    archive: Archive, expected: dict[str, list[str]], one_spark: OneSpark, tmp_path: Path
) -> None:
    output, killed = tmp_path / "out", tmp_path / "killed"
    base = ("--input_base_url", archive.folder)
    words = ("--keys", archive.keys, "--template", *base, *JSON, *FEW, archive.manifest, output)
    deadly = ("--extractor", "tests.support.odd_extractors.deadly_once")
    one_spark.start(CLUSTER, TPLSPIDER_TEST_KILLED=str(killed))
    assert search(*words, *deadly) == 0
    assert killed.exists()
    found = {name: without_places(table(output, name)) for name in expected}
    assert found == expected

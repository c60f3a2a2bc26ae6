"""What the Spark jobs are made of, as far as it needs no Spark."""

from __future__ import annotations

import doctest
import json
import os
import signal
from collections import Counter
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from tests.support.warc_files import http, packed, record
from tplspider.sources.warc_capture import ALIAS, OTHER, PAGE, RENDERED
from tplspider.spark import stored_files
from tplspider.spark.careful import in_child
from tplspider.spark.ending import quiet_end
from tplspider.spark.joined_site import JoinedSite, StoredPlace
from tplspider.spark.patience import Patience
from tplspider.spark.session import short, worker_fault
from tplspider.spark.stored_files import StoredFiles

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DATA = bytes(range(256)) * 10


class Parts(BaseHTTPRequestHandler):
    """Gives parts of a file, but for /whole, which it gives as a whole; some paths have faults."""

    asked: ClassVar[Counter[str]] = Counter()  # how often, by the path

    def do_GET(self) -> None:
        Parts.asked[self.path] += 1
        is_faulty = not self.path.endswith("-twice") or Parts.asked[self.path] <= 2
        asked = self.headers.get("Range")
        if self.path == "/gone" or (self.path.startswith("/busy") and is_faulty):
            self.send_error(404 if self.path == "/gone" else 503)
            return
        if self.path == "/nonsense":
            self.wfile.write(b"no HTTP at all\r\n\r\n")
            return
        body = DATA
        if asked and self.path != "/whole":
            start, _, end = asked.removeprefix("bytes=").partition("-")
            body = DATA[int(start) : int(end) + 1]
        self.send_response(206 if body is not DATA else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[:-1] if self.path.startswith("/cut") and is_faulty else body)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Parts) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        Parts.asked.clear()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_examples() -> None:
    found = doctest.testmod(stored_files)
    assert found.attempted
    assert not found.failed


def test_files_of_a_server(address: str, tmp_path: Path) -> None:
    with StoredFiles(str(tmp_path)) as stored:
        assert stored.part(f"{address}/file", 100, 50) == DATA[100:150]
        with stored.whole(f"{address}/file") as file:
            assert file.read() == DATA
        assert list(tmp_path.iterdir()) == []  # the copy has no name
        with pytest.raises(OSError, match="does not give parts"):
            stored.part(f"{address}/whole", 100, 50)
        with pytest.raises(OSError, match="HTTP status 404"):
            stored.part(f"{address}/gone", 100, 50)


@pytest.mark.parametrize("path", ["/busy-twice", "/cut-twice"])
def test_what_fails_for_a_while_is_tried_again(path: str, address: str) -> None:
    with StoredFiles(patience=Patience((0, 0, 0))) as stored:
        assert stored.part(address + path, 100, 50) == DATA[100:150]
        assert Parts.asked[path] == 3
        Parts.asked.clear()
        with stored.whole(address + path) as file:
            assert file.read() == DATA
        assert Parts.asked[path] == 3


@pytest.mark.parametrize(
    ("path", "line", "tries"),
    [
        ("/busy", "HTTP status 503", 4),
        ("/cut", "the connection was lost before the end", 4),
        ("/nonsense", "BadStatusLine", 4),
        ("/gone", "HTTP status 404", 1),
        ("/no address", "URL can't contain control characters", 0),
    ],
)
def test_what_stays_wrong_is_the_fault_of_a_file(
    path: str, line: str, tries: int, address: str
) -> None:
    with StoredFiles(patience=Patience((0, 0, 0))) as stored:
        with pytest.raises(OSError, match=line):
            stored.part(address + path, 100, 50)
        assert Parts.asked[path] == tries
        # A server that has failed to the last is asked once more, not four times.
        with pytest.raises(OSError, match=line), stored.whole(address + path):
            pass
        assert Parts.asked[path] == tries + min(tries, 1)
        assert stored.part(f"{address}/file", 0, 5) == DATA[:5]
        with pytest.raises(OSError, match=line):
            stored.part(address + path, 100, 50)
        assert Parts.asked[path] == 2 * tries + min(tries, 1)


@pytest.mark.parametrize("name", ["http://[x/", "a\0b"])
def test_a_name_may_be_anything(name: str) -> None:
    with StoredFiles() as stored, pytest.raises(OSError, match=r"IPv6|null"):
        stored.part(name, 0, 1)


def test_files_of_this_machine(tmp_path: Path) -> None:
    path = tmp_path / "a b.warc"
    path.write_bytes(DATA)
    with StoredFiles() as stored:
        for name in (str(path), path.as_uri()):
            assert stored.part(name, 2550, 50) == DATA[2550:]
            with stored.whole(name) as file:
                assert file.read() == DATA
        with pytest.raises(FileNotFoundError):
            stored.part(str(tmp_path / "gone"), 0, 1)
        with pytest.raises(OSError, match=r"boto3|credentials|NoCredentials|endpoint"):
            stored.part("s3://", 0, 1)


def test_captures_by_their_dates() -> None:
    def place(offset: int, kind: int = PAGE, date: int = 1, *, own: bool = False) -> StoredPlace:
        return StoredPlace(0, offset, kind, 5, 10, date, own, None)

    dated = [place(3), place(9), place(1, OTHER), place(4, RENDERED)]
    with StoredFiles() as stored:
        site = JoinedSite(stored, ["a.warc"], "")
        # Also those that were looked up twice, or are the search's own as well.
        others = [place(7, ALIAS), place(8, date=2), place(9), place(9, own=True)]
        site.begin({5}, [*dated, *others])
        assert [each.offset for each in site.captures_at(5, 1)] == [4, 9, 3, 1]
        assert not site.is_unsure
        assert len([*site.captures(5)]) == 7
        assert list(site.captures_at(6, 1)) == []
        assert site.missing == {6}


def test_what_kills_a_process_kills_a_copy_of_it() -> None:
    assert in_child(lambda: {"some": ["thing"] * 100_000}) == {"some": ["thing"] * 100_000}
    assert in_child(list) == []
    assert in_child(lambda: os.kill(os.getpid(), signal.SIGKILL)) is None
    assert in_child(lambda: 1 // 0) is None


@pytest.mark.parametrize(
    ("told", "line"),
    [
        (
            (
                "PySparkRuntimeError: [PYTHON_VERSION_MISMATCH] Python in worker has different"
                " version: 3.9 than that in driver: 3.11, PySpark cannot run with different minor"
                " versions."
            ),
            (
                "the workers have another Python than the driver (3.9, 3.11): set PYSPARK_PYTHON"
                " and PYSPARK_DRIVER_PYTHON to the same version"
            ),
        ),
        (
            'java.io.IOException: Cannot run program "py": error=2, No such file or directory',
            "the workers have no 'py': set PYSPARK_PYTHON to a Python that is there",
        ),
        (
            "Traceback ...\nModuleNotFoundError: No module named 'lxml'\n\n\tat org.apache",
            (
                "the workers have no module 'lxml': pip install '.[archive,spark]' in a clone on"
                " every node, or ship an environment (PYSPARK_PYTHON=py)"
            ),
        ),
        ("x\nOSError: full\n\tat java", "the workers cannot be used: OSError: full"),
    ],
)
def test_what_is_wrong_with_workers(told: str, line: str) -> None:
    assert worker_fault(told, "py") == line
    assert "\n" not in short(told)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_a_job_in_order_and_are_given_back(by: signal.Signals) -> None:
    before = signal.getsignal(by)
    with pytest.raises(KeyboardInterrupt), quiet_end():
        os.kill(os.getpid(), by)
    assert signal.getsignal(by) is before


def captured(path: Path) -> list[dict[str, Any]]:
    """The captures of a file, as workers are given them."""
    import pyarrow as pa  # it may not be there

    from tplspider.spark.capturing import FileCaptures
    from tplspider.spark.table_columns import PLACE_NAMES

    work = FileCaptures(SimpleNamespace(value=[str(path)]), "", None)
    rows = [
        row
        for batch in work.table(iter([pa.RecordBatch.from_pylist([{"id": 0}])]))
        for row in batch.to_pylist()
    ]
    return [{name: row.get(name) for name in PLACE_NAMES} for row in rows]


def made_by(work: Any, columns: Any, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What a worker makes of some rows."""
    import pyarrow as pa

    batches = iter([pa.RecordBatch.from_pylist(rows, schema=columns)])
    return [row for batch in work.table(batches) for row in batch.to_pylist()]


@pytest.mark.slow
def test_a_page_that_we_stumble_over_costs_itself(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is an extra")
    import pyarrow as pa

    from tplspider.search.session import SearchOptions
    from tplspider.spark.key_pages import HostKeys
    from tplspider.spark.strip_pages import PageStrips, PoolDraws
    from tplspider.spark.table_columns import DRAWN, PLACE

    path = tmp_path / "a.warc.gz"
    path.write_bytes(
        packed(
            record("response", f"http://a.test/{each}", http(b"<p>words " + each.encode()),
                   Content_Type="application/http")
            for each in "abcd"
        )
    )  # fmt: skip
    places = sorted(captured(path), key=lambda place: place["key"])
    bad = places[1]
    bad["length"] = None  # no table has that: it stands for whatever we did not think of
    names = SimpleNamespace(value=[str(path)])
    row = {"site": "a.test", "places": places, "is_whole": True}
    (drawn,) = made_by(PoolDraws(names, ""), DRAWN, [row])
    assert drawn["is_ready"]
    assert [place["key"] for place in drawn["pool"]] == [
        place["key"] for place in places if place is not bad
    ]
    both = pa.list_(PLACE)
    chunks = pa.schema({"site": pa.string(), "places": both, "pool": both})
    pages = made_by(PageStrips(names, ""), chunks, [{**row, "pool": places}])
    assert [page["outcome"] for page in pages] == ["page", "error", "page", "page"]
    numbers = pa.schema({"number": pa.int64(), "place": PLACE})
    keys = made_by(
        HostKeys(names, "", SearchOptions()),
        numbers,
        [{"number": number, "place": place} for number, place in enumerate(places, 1)],
    )
    ends = [json.loads(key["job"])["end"] for key in keys]
    assert [end and end["key_outcome"] for end in ends] == [None, "unreadable", None, None]
    # And without the file, all have their rows, and say why.
    path.unlink()
    (drawn,) = made_by(PoolDraws(names, ""), DRAWN, [row])
    assert (drawn["unread"], drawn["unread_why"]) == (3, f"{path}: No such file or directory")
    pages = made_by(PageStrips(names, ""), chunks, [{**row, "pool": places}])
    assert [page["unread"] for page in pages] == [1, 0, 1, 1]


def test_a_key_page_that_cannot_be_fetched_says_why(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="pyspark is an extra")
    from tplspider.old.extraction.archive_search import ArchiveWork
    from tplspider.search.session import SearchLimits
    from tplspider.spark.key_pages import asking_row
    from tplspider.spark.searching import KeyJob, KeyLine, SearchAttempts
    from tplspider.spark.table_columns import LOOKED_UP

    path, url = tmp_path / "a.warc.gz", "http://a.test/a"
    told = {"Content_Type": "application/http"}
    path.write_bytes(packed([record("response", url, http(b"<p>words"), **told)]))
    places, names = captured(path), SimpleNamespace(value=[path.name])
    job = KeyJob(url, [KeyLine(1, url)])
    work = SearchAttempts(ArchiveWork(tmp_path, (), 1_000_000, SearchLimits()), names, "/wrong")
    row = {**asking_row(1, job), "places": places, "pool": None}
    (found,) = made_by(work, LOOKED_UP, [row])
    why = "/wrong/a.warc.gz: No such file or directory"
    assert (found["done"], found["unread"], found["unread_why"]) == (True, 1, why)
    assert found["misfits"] == 0
    (summary,) = found["summary"]
    assert summary["key_outcome"] == "not-archived"
    assert summary["hint"] == f"1 record cannot be fetched: {why}"


def test_large_rows_go_out_by_themselves() -> None:
    pa = pytest.importorskip("pyarrow")
    from tplspider.spark.table_columns import batches_of

    rows = [{"texts": ["x" * 50]} for _ in range(6)]
    columns = pa.schema({"texts": pa.list_(pa.string())})
    sizes = [batch.num_rows for batch in batches_of(rows, columns, 4, most_bytes=100)]
    assert sizes == [2, 2, 2]
    assert [batch.num_rows for batch in batches_of(rows, columns, 4)] == [4, 2]

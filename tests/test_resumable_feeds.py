"""Feeds that go on after a restart: no row is lost, doubled or broken, and all are in step."""

from __future__ import annotations

import asyncio
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.extensions.feedexport import FileFeedStorage

from tests.support.crawls import PROJECT
from tests.support.fed_feeds import SEARCHES, FedFeeds, candidate, rows_of, summary
from tests.support.full_disk import short_files
from tplspider.items import CandidateSearch, TemplateCandidate
from tplspider.old.crawl.batch.journal import Journal
from tplspider.old.crawl.batch.journal_file import NAME, JournalError

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = b"12345678"


def lines(path: Path) -> list[dict[str, Any]]:
    """The rows of a feed; a line that is broken fails."""
    with path.open(newline="", encoding="utf-8") as file:
        if path.suffix == ".csv":
            return list(csv.DictReader(file, strict=True))
        return [json.loads(line) for line in file]


def searches(path: Path) -> list[str]:
    return [row["search_id"] for row in lines(path)]


@contextmanager
def fed(folder: Path, *names: str, overwrite: bool = False, **args: Any) -> Iterator[FedFeeds]:
    feeds: dict[str, dict[str, Any]] = {
        str(folder / name): {"format": Path(name).suffix[1:], "overwrite": overwrite}
        for name in names
    }
    with FedFeeds(folder / "job", feeds, **args) as opened:
        yield opened


def done(feeds: FedFeeds, number: int) -> None:
    feeds.write(candidate(number, 1), summary(number))
    feeds.journal.commit(lines=[(number, MARK)])


def die(feeds: FedFeeds) -> None:
    """Leave files and journal as a process does that is killed, and let their locks go."""
    feeds.journal._file.connection.close()


def refused(folder: Path, *names: str, **args: Any) -> str:
    feeds: dict[str, dict[str, Any]] = {
        str(folder / name): {"format": Path(name).suffix[1:]} for name in names
    }
    with pytest.raises(ValueError, match="JOBDIR") as raised:
        FedFeeds(folder / "job", feeds, **args)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["", "sync"])
def test_killed_again_and_again(tmp_path: Path, mode: str) -> None:
    command = [sys.executable, "-m", "tests.support.fed_feeds", str(tmp_path), "40", "7"]
    subprocess.run([*command, *mode.split()], cwd=PROJECT, check=True, timeout=300)
    want = [f"s{number}" for number in range(1, SEARCHES + 1) for _ in range(rows_of(number))]
    assert searches(tmp_path / "out.jl") == want
    assert searches(tmp_path / "more" / "out.csv") == want
    assert searches(tmp_path / "s.csv") == [f"s{number}" for number in range(1, SEARCHES + 1)]


def test_what_was_not_committed_is_taken_back(tmp_path: Path) -> None:
    names = ("out.jl", "out.csv")
    with fed(tmp_path, *names, summary=str(tmp_path / "s.jl")) as feeds:
        done(feeds, 1)
        feeds.write(candidate(2, 1))
        die_with = {name: (tmp_path / name).read_bytes() for name in names}
    assert [searches(tmp_path / name) for name in names] == [["s1"], ["s1"]]
    for name, content in die_with.items():  # as the process had left them, were it killed
        (tmp_path / name).write_bytes(content + b"half a li")
    with fed(tmp_path, *names, summary=str(tmp_path / "s.jl")):
        # Before the first item: a feed that never gets another one is not opened any more.
        assert [searches(tmp_path / name) for name in names] == [["s1"], ["s1"]]
    with fed(tmp_path, *names, summary=str(tmp_path / "s.jl")) as feeds:
        done(feeds, 2)
    for name in (*names, "s.jl"):
        assert searches(tmp_path / name) == ["s1", "s2"]


def test_feeds_go_on_where_they_were_cut_back(tmp_path: Path) -> None:
    with fed(tmp_path, "out.jl", "out.csv") as feeds:
        done(feeds, 1)
        feeds.write(candidate(2, 1))
        feeds.journal.feeds.cut_back()
        done(feeds, 3)
    for name in ("out.jl", "out.csv"):
        assert searches(tmp_path / name) == ["s1", "s3"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_what_was_there_before(tmp_path: Path, overwrite: bool) -> None:  # noqa: FBT001 - a parameter
    """It is overwritten, or kept, at the first start alone."""
    with fed(tmp_path, "old.jl", "old.csv") as feeds:
        done(feeds, 0)
    shutil.rmtree(tmp_path / "job")
    for number in (1, 2):
        with fed(tmp_path, "old.jl", "old.csv", overwrite=overwrite) as feeds:
            done(feeds, number)
            feeds.write(candidate(9, 1))
    for name in ("old.jl", "old.csv"):
        assert searches(tmp_path / name) == ([] if overwrite else ["s0"]) + ["s1", "s2"]


def test_a_header_comes_once(tmp_path: Path) -> None:
    (tmp_path / "out.csv").touch()
    (tmp_path / "s.csv").write_text("a,b\r\n")
    for _ in range(3):
        with fed(tmp_path, "out.csv", summary=str(tmp_path / "s.csv")):
            pass  # nothing: the feed that is stored empty is its header
    with fed(tmp_path, "out.csv", summary=str(tmp_path / "s.csv")) as feeds:
        feeds.write(candidate(1, 1), summary(1))
        die(feeds)  # before the commit
        feeds.journal.feeds.committed.clear()  # nor is it cut back
    for number in (2, 3):
        with fed(tmp_path, "out.csv", summary=str(tmp_path / "s.csv")) as feeds:
            done(feeds, number)
    for name in ("out.csv", "s.csv"):
        assert (tmp_path / name).read_text().count("search_id") == 1
        assert searches(tmp_path / name) == ["s2", "s3"]


def test_an_empty_feed_keeps_its_header_at_the_end(tmp_path: Path) -> None:
    with fed(tmp_path, template=str(tmp_path / "t.csv"), summary=str(tmp_path / "s.csv")) as feeds:
        done(feeds, 1)
    assert (tmp_path / "t.csv").read_text().startswith("key_url,")
    assert lines(tmp_path / "t.csv") == []


@pytest.mark.parametrize("name", ["out.jl", "out.csv"])
def test_files_that_have_lost_something(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    with fed(tmp_path, name, "other.jl") as feeds:
        done(feeds, 1)
    size = path.stat().st_size
    os.truncate(path, size - 1)
    said = f"held {size} bytes of searches that are done: put it back, or give another JOBDIR"
    label = f"feed {str(path)!r} cannot go on (JOBDIR): it is"
    with (tmp_path / "other.jl").open("a") as file:
        file.write("more")
    assert refused(tmp_path, name, "other.jl") == f"{label} shorter than it was, and {said}"
    path.unlink()
    assert refused(tmp_path, name, "other.jl") == f"{label} gone, and {said}"
    assert (tmp_path / "other.jl").read_text().endswith("more")  # nothing is done by halves


def test_other_feeds_with_the_same_folder(tmp_path: Path) -> None:
    with fed(tmp_path, "out.jl") as feeds:
        done(feeds, 1)
    said = refused(tmp_path, "out.csv")
    assert said.startswith(
        f"JOBDIR={str(tmp_path / 'job')!r}: feed {str(tmp_path / 'out.jl')!r} is missing"
    )
    assert f"feed {str(tmp_path / 'out.csv')!r} is new" in said
    assert not (tmp_path / "out.csv").exists()
    with fed(tmp_path, "out.jl", overwrite=True) as feeds:
        done(feeds, 2)
    assert searches(tmp_path / "out.jl") == ["s1", "s2"]


class OwnStorage(FileFeedStorage):
    """Writes files in another way."""


@pytest.mark.parametrize(
    ("name", "options", "settings", "said"),
    [
        ("out.json", {}, {}, "its format is json: make it .jl or .csv"),
        ("out.xml", {}, {}, "its format is xml: make it .jl or .csv"),
        ("out.pickle", {}, {}, "its format is pickle: make it .jl or .csv"),
        (
            "out.jl",
            {"postprocessing": ["scrapy.extensions.postprocessing.GzipPlugin"]},
            {},
            "it is compressed, or changed in another way, when written",
        ),
        ("o%(batch_id)d.jl", {"batch_item_count": 2}, {}, "it is written in batches"),
        (
            "o%(batch_id)d.jl",
            {},
            {"FEED_EXPORT_BATCH_ITEM_COUNT": 2},
            "it is written in batches",
        ),
        ("o%(time)s.jl", {}, {}, "%(time)s gives it another name each time"),
        ("o%(batch_time)s.jl", {}, {}, "%(batch_time)s gives it another name each time"),
        ("stdout:", {"format": "jl"}, {}, "give it a local file"),
        ("ftp://user:secret@127.0.0.1/out.jl", {}, {}, "give it a local file"),
        ("/dev/null", {"format": "jl"}, {}, "it is not a plain file"),
        ("out.jl", {}, {"FEED_STORAGES": {"": OwnStorage}}, "OwnStorage stores it in its own way"),
        (
            "out.csv",
            {"item_classes": [TemplateCandidate, CandidateSearch]},
            {},
            "its columns are not known: give it fields, or make it .jl",
        ),
    ],
)
def test_what_cannot_go_on(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    options: dict[str, Any],
    settings: dict[str, Any],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = name.replace("user:secret@", "")
    with pytest.raises(ValueError, match="JOBDIR") as raised:
        FedFeeds(tmp_path / "job", {name: options}, settings=settings)
    assert str(raised.value) == f"feed {shown!r} cannot go on after a restart (JOBDIR): {said}"
    assert list(tmp_path.iterdir()) == []


def test_arguments_that_cannot_go_on(tmp_path: Path) -> None:
    for argument in ("summary", "template"):
        for name, said in (
            (str(tmp_path / "s.json"), "its format is json: make it .jl or .csv"),
            ("-:jl", "give it a local file"),
            (str(tmp_path / "%(time)s.jl"), "%(time)s gives it another name each time"),
        ):
            assert refused(tmp_path, **{argument: name}) == (
                f"{argument}={name!r} cannot go on after a restart (JOBDIR): {said}"
            )


def test_an_archive_that_cannot_go_on(tmp_path: Path) -> None:
    name = str(tmp_path / "%(time)s.warc.gz")
    assert refused(tmp_path, warc=name) == (
        f"warc={name!r} cannot go on after a restart (JOBDIR):"
        " %(time)s gives it another name each time"
    )


def test_the_file_of_the_journal_is_not_a_feed(tmp_path: Path) -> None:
    name = str(tmp_path / "job" / NAME)
    with pytest.raises(ValueError, match=r"is the file of the journal \(JOBDIR\): give it one of"):
        FedFeeds(tmp_path / "job", {name: {"format": "jl"}})


def test_names_that_are_not_text(tmp_path: Path) -> None:
    name = os.fsdecode(b"\xff %20 %(name).jl")
    for number in (1, 2):
        with fed(tmp_path, name) as feeds:
            done(feeds, number)
    assert searches(tmp_path / name) == ["s1", "s2"]


def test_a_feed_that_cannot_be_written(tmp_path: Path) -> None:
    limit = 2_000_000
    big = tmp_path / "big.jl"
    with fed(tmp_path, "big.jl", "small.csv", summary=str(tmp_path / "s.jl")) as feeds:
        feeds.write(*(candidate(1, rank) for rank in range(3)), summary(1))
        with big.open("ab") as file:
            file.write(b" " * (limit - big.stat().st_size - 101) + b"\n")
        feeds.exporter.slots[0].file.inner.seek(0, os.SEEK_END)  # type: ignore[union-attr]
        feeds.journal.commit(lines=[(1, MARK)])
        with short_files(limit):
            feeds.write(candidate(2, 1), summary(2))
        assert big.stat().st_size == limit - 100  # no piece of a line
        for _ in range(2):  # nor later, when there is room again
            with pytest.raises(JournalError) as raised:
                feeds.journal.commit(lines=[(2, MARK)])
            assert str(raised.value) == f"{big} cannot be written: File too large"
        assert not feeds.journal.is_done(2, MARK)
    assert feeds.crawler.stats.get_value("tplspider/lost_outputs") == 1
    assert big.stat().st_size == limit - 100
    assert searches(tmp_path / "small.csv") == ["s1"] * 3
    assert searches(tmp_path / "s.jl") == ["s1"]


def test_a_feed_that_cannot_be_opened(tmp_path: Path) -> None:
    with fed(tmp_path, "a/out.jl", "small.csv") as feeds:
        (tmp_path / "a").write_text("a file, by now")
        feeds.write(candidate(1, 1))
        with pytest.raises(JournalError, match=r"out\.jl cannot be written: (File exists|Not a d)"):
            feeds.journal.commit(lines=[(1, MARK)])
    assert (tmp_path / "small.csv").read_text().startswith("key_url,")
    assert searches(tmp_path / "small.csv") == []


def test_a_commit_when_the_feeds_are_closed(tmp_path: Path) -> None:
    with fed(tmp_path, "out.jl", "out.csv") as feeds:
        feeds.write(candidate(1, 1))
        asyncio.run(feeds.exporter.close_spider(feeds.spider))
        feeds.exporter.slots.clear()
        feeds.journal.commit(lines=[(1, MARK)])
    with fed(tmp_path, "out.jl", "out.csv"):
        pass
    for name in ("out.jl", "out.csv"):
        assert searches(tmp_path / name) == ["s1"]


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_with_sync_feeds_are_on_the_disk_before_the_journal(tmp_path: Path) -> None:
    """As the system saw it: each feed is written and synced, then the journal."""
    code = """if True:
        import os, sys
        from pathlib import Path
        from tests.support.fed_feeds import FedFeeds, candidate, summary
        folder = Path(sys.argv[1])
        feeds = {str(folder / "new" / "out.jl"): {"format": "jl"}}
        fed = FedFeeds(folder / "job", feeds, sync=True, summary=str(folder / "s.csv"))
        for number in (1, 2):
            fed.write(candidate(number, 1), summary(number))
            fed.journal.commit(lines=[(number, b"12345678")], search_id=f"s{number}", summary={})
            os.write(1, b"committed")
    """
    trace = tmp_path / "trace"
    calls = "trace=fsync,fdatasync,write,pwrite64"
    subprocess.run(
        ["strace", "-f", "-y", "-o", trace, "-e", calls, sys.executable, "-c", code, tmp_path],
        cwd=PROJECT,
        check=True,
        timeout=120,
        stdout=subprocess.DEVNULL,
    )
    found = re.findall(r"(fsync|fdatasync|write|pwrite64)\(\d+<([^>]*)>", trace.read_text())
    seen = [
        ("sync" if "sync" in call else "write", os.path.relpath(path, tmp_path))
        for call, path in found
        if path.startswith(f"{tmp_path}/") or path in (str(tmp_path), os.devnull)
    ]
    wal = f"job/{NAME}-wal"
    ends = [index for index, (_, path) in enumerate(seen) if path.endswith(os.devnull)]
    start = seen.index(("write", "new/out.jl"))
    for end, new in zip(ends, (["new", "."], []), strict=True):
        *feeds, last = seen[start:end]
        assert last == ("sync", wal)
        first = feeds.index(("write", wal))
        assert feeds[first:] == [("write", wal)] * (len(feeds) - first)
        rows = [path for call, path in feeds[:first] if call == "write"]
        assert set(rows) == {"new/out.jl", "s.csv"}
        synced = [path for call, path in feeds[:first] if call == "sync"]
        assert sorted(synced) == sorted(["new/out.jl", "s.csv", *new])
        written = max(feeds.index(("write", path)) for path in rows)
        assert min(feeds.index(("sync", path)) for path in synced) > written
        start = end + 1


def test_without_a_journal_nothing_is_kept(tmp_path: Path) -> None:
    """A temporary journal has no part in the feeds."""
    journal = Journal.open(None)
    journal.begin("a", "", alone=False)
    journal.commit(lines=[(1, MARK)], search_id="a", summary={})
    assert journal.feeds.lengths() == {}
    assert journal.suspects() == []
    journal.close()

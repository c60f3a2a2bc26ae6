"""What a journal remembers, however the process ends, and what is said of one that will not do."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.crawls import PROJECT
from tplspider.old.crawl.batch.journal import Journal, Suspect
from tplspider.old.crawl.batch.journal_file import NAME, JournalError, _make

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MARK = b"12345678"


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    with closing(Journal.open(tmp_path / "job")) as opened:
        yield opened


def python(code: str, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run code that has Journal and a folder, in a process of its own."""
    head = """
        import os, signal, sys
        from pathlib import Path
        from tplspider.old.crawl.batch.journal import Journal
        folder = Path(sys.argv[1])
    """
    code = textwrap.dedent(head) + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        **options,
    )


def fault(folder: Path) -> str:
    """What is said of a journal, by the check and at opening, in one line that names it."""
    said = []
    for use in (Journal.open, partial(Journal.check, description={})):
        with pytest.raises(ValueError, match=r"^JOBDIR=") as raised:
            use(folder)
        said.append(str(raised.value))
    assert said[0] == said[1]
    assert "\n" not in said[0]
    assert said[0].startswith(f"JOBDIR={str(folder)!r}: ")
    return said[0].removeprefix(f"JOBDIR={str(folder)!r}: ")


def filled(folder: Path) -> Path:
    """A journal with several pages in each table."""
    with closing(Journal.open(folder)) as journal:
        journal.bind({"n": "3"})
        journal.commit(lines=((number, MARK) for number in range(2000)))
        for number in range(50):
            journal.begin(f"b{number}", "x" * 400, alone=False)
            journal.commit(lines=(), search_id=f"s{number}", summary={"x": os.urandom(300).hex()})
    return folder / NAME


def pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def change(path: Path, name: str, value: int) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA {name} = {value}")


def test_lines_that_are_done(tmp_path: Path) -> None:
    with closing(Journal.open(tmp_path)) as journal:
        journal.commit(lines=[(1, MARK), (3, b"another.")])
        assert [journal.is_done(line, MARK) for line in (1, 2)] == [True, False]
    with closing(Journal.open(tmp_path)) as journal:
        assert [journal.is_done(line, MARK) for line in (1, 2)] == [True, False]
        assert journal.done() == 2
        with pytest.raises(ValueError, match=r"JOBDIR='.*': line 3 is not the one that was search"):
            journal.is_done(3, MARK)


@pytest.mark.parametrize("kept", [True, False])
def test_summaries(tmp_path: Path, kept: bool) -> None:  # noqa: FBT001 - a parameter of the test
    with closing(Journal.open(tmp_path if kept else None)) as journal:
        summary = {"search_id": "a", "title": "Straße \ud800", "links": [1, None, 2.5]}
        journal.commit(lines=[(1, MARK)], search_id="a", summary=summary)
        assert journal.summary("a") == summary
        assert journal.summary("b") is None


def test_another_crawl_with_the_same_folder(tmp_path: Path) -> None:
    with closing(Journal.open(tmp_path)) as journal:
        journal.bind({"n": "3", "urls": "'a'", "scope": "host"})
    now = {"n": "5", "urls": "'a'", "witness": "true"}
    said = (
        f"JOBDIR={str(tmp_path)!r}: n was 3 and is 5, scope was host and is not given,"
        " witness was not given and is true:"
        " give what was given at its first start, or another JOBDIR"
    )
    with closing(Journal.open(tmp_path)) as journal:
        with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
            journal.bind(now)
        journal.bind({"scope": "host", "urls": "'a'", "n": "3"})
    with pytest.raises(ValueError, match=f"^{re.escape(said)}$"):
        Journal.check(tmp_path, now)


@pytest.mark.slow
def test_who_is_a_suspect(tmp_path: Path) -> None:
    """Deaths are counted by whoever opens the journal next, and not by whoever looks into it."""
    dies = "journal = Journal.open(folder); {} os.kill(os.getpid(), signal.SIGKILL)"
    three = "[journal.begin(s, 'of ' + s, alone=False) for s in ('done', 'in')];"
    done = "journal.commit(lines=[(1, b'')], search_id='done');"
    assert python(dies.format(three + done), tmp_path).returncode == -9
    Journal.check(tmp_path, {})
    Journal.check(tmp_path, {})
    two = "journal.begin('in', 'of in', alone=True); journal.begin('new', 'n', alone=False);"
    assert python(dies.format(two), tmp_path).returncode == -9
    with closing(Journal.open(tmp_path)) as journal:
        suspects = [Suspect("new", "n", 1, 0), Suspect("in", "of in", 2, 1)]
        assert journal.suspects() == suspects
        journal.begin("in", "of in", alone=True)
        journal.begin("innocent", "", alone=False)
        journal.forget_begun()
    with closing(Journal.open(tmp_path)) as journal:
        assert journal.suspects() == suspects
        journal.commit(lines=[(2, b"")], search_id="in", summary={"key_outcome": "crashed"})
        assert [suspect.search_id for suspect in journal.suspects()] == ["new"]


def test_lines_that_wait(journal: Journal) -> None:
    for number in range(3):
        for host in ("a.example", "b.example"):
            journal.park(host, f"{host} {number}")
    assert journal.parked == 6
    assert [journal.unpark("a.example") for _ in range(2)] == ["a.example 0", "a.example 1"]
    journal.park("a.example", "last")
    assert [journal.unpark("a.example") for _ in range(3)] == ["a.example 2", "last", None]
    assert journal.unpark("c.example") is None
    assert journal.parked == 3


@pytest.mark.slow
def test_many_lines_cost_no_memory(tmp_path: Path) -> None:
    code = """
        import resource
        def used(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        journal = Journal.open(None if sys.argv[2] == "temporary" else folder)
        journal.commit(lines=[(0, b"12345678")], search_id="0", summary={"x": "y"})
        before = used()
        journal.commit(lines=((line, b"12345678") for line in range(300_000)))
        for line in range(50_000):
            journal.park("example.org", "x" * 200)
        print(used() - before, all(journal.is_done(line, b"12345678") for line in range(50_000)))
    """
    for kind in ("temporary", "kept"):
        kilobytes, right = python(code, tmp_path, kind).stdout.split()
        assert right == "True"
        assert int(kilobytes) < 12_000, kind  # as a set and a list: above 50,000


@pytest.mark.slow
def test_a_temporary_journal_leaves_nothing(tmp_path: Path) -> None:
    code = """
        journal = Journal.open(None)
        journal.commit(lines=((line, b"12345678") for line in range(500_000)))
        journal.begin("a", "", alone=False)
        assert os.fstat(3).st_size > 4_000_000  # the first file that was opened: it is on the disk
        print(os.listdir(folder), flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path), "SQLITE_TMPDIR": str(tmp_path)}
    done = python(code, tmp_path, env=environment)
    assert (done.returncode, done.stdout) == (-9, "[]\n"), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_another_process_is_refused(journal: Journal, tmp_path: Path) -> None:
    code = """
        for use in (Journal.open, lambda folder: Journal.check(folder, {})):
            try:
                use(folder)
            except ValueError as error:
                print(error)
    """
    folder = tmp_path / "job"
    for _ in range(2):  # being refused lets no lock go
        said = f"JOBDIR={str(folder)!r}: another crawl is using it\n"
        assert python(code, folder).stdout == 2 * said
        assert fault(folder) == "another crawl is using it"
    journal.commit(lines=[(1, MARK)])
    journal.close()
    with closing(Journal.open(folder)) as again:
        assert again.is_done(1, MARK)


@pytest.mark.slow
def test_of_many_that_start_at_once_one_goes_on(tmp_path: Path) -> None:
    code = """
        sys.stdin.read(1)
        try:
            journal = Journal.open(folder / "deep" / "job")
            print("open", flush=True)
        except ValueError as error:
            print(error, flush=True)
        sys.stdin.read()
    """
    head = "import sys; from pathlib import Path; folder = Path(sys.argv[1])\n"
    head += "from tplspider.old.crawl.batch.journal import Journal\n"
    starting = [
        subprocess.Popen(
            [sys.executable, "-c", head + textwrap.dedent(code), str(tmp_path)],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        for _ in range(4)
    ]
    said = []
    for each in starting:
        assert each.stdin
        each.stdin.write("go")
        each.stdin.flush()
    for each in starting:
        assert each.stdout
        said.append(each.stdout.readline().strip())
    for each in starting:
        each.communicate()
    assert said.count("open") == 1, said
    assert {line.rpartition(": ")[2] for line in said} == {"open", "another crawl is using it"}
    assert os.listdir(tmp_path / "deep" / "job") == [NAME]  # noqa: PTH208 - names are compared


def test_whoever_comes_later_does_not_replace_a_journal(tmp_path: Path) -> None:
    with closing(Journal.open(tmp_path)) as journal:
        journal.commit(lines=[(1, MARK)])
        _make(tmp_path / NAME)  # by one that saw none a moment ago
    with closing(Journal.open(tmp_path)) as journal:
        assert journal.is_done(1, MARK)
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_folder_that_is_looked_at_is_not_made(tmp_path: Path) -> None:
    Journal.check(tmp_path / "a" / "b", {})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: path.write_bytes(b""), "is damaged (it is empty)"),
        (lambda path: path.write_bytes(b"[]"), "is damaged (file is not a database)"),
        (lambda path: path.write_bytes(os.urandom(9000)), "is damaged (file is not a database)"),
        (lambda path: (path.unlink(), path.mkdir()), "is not a file"),
        (pipe, "is not a file"),
        (
            lambda path: os.truncate(path, path.stat().st_size // 2),
            "is damaged (database disk image is malformed)",
        ),
        (lambda path: change(path, "application_id", 7), "is a file of another program"),
        (
            lambda path: change(path, "user_version", 2),
            "is from another version of tplspider (its tables have number 2, and here it is 1)",
        ),
    ],
)
def test_a_file_that_is_not_a_journal(
    tmp_path: Path, spoil: Callable[[Path], object], said: str
) -> None:
    spoil(filled(tmp_path / "job"))
    assert fault(tmp_path / "job") == f"{NAME} {said}"


def test_every_page_that_is_overwritten_is_found(tmp_path: Path) -> None:
    path = filled(tmp_path)
    whole = path.read_bytes()
    assert len(whole) > 10 * 4096
    for start in range(0, len(whole), 4096):
        for damage in (bytes(4096), b"\xff" * 100, b"Lorem ipsum " * 300):
            path.write_bytes(whole[:start] + damage + whole[start + len(damage) :])
            assert fault(tmp_path).startswith(f"{NAME} is damaged (")
    path.write_bytes(whole)
    with closing(Journal.open(tmp_path)) as journal:
        assert journal.done() == 2000


def test_a_summary_that_is_damaged(tmp_path: Path) -> None:
    path = filled(tmp_path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE searches SET summary = x'00' WHERE search_id = 's1'")
    with (
        closing(Journal.open(tmp_path)) as journal,
        pytest.raises(JournalError, match=r"^JOBDIR='.*': the journal is damaged \(search s1\)$"),
    ):
        journal.summary("s1")


def test_folders_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert fault(tmp_path / "file") == "cannot write to it (Not a directory)"
    assert fault(tmp_path / "file" / "job") == "cannot write to it (Not a directory)"
    assert fault(Path("/proc/job")).startswith("cannot write to it (")
    assert fault(tmp_path / ("x" * 300)) == "cannot write to it (File name too long)"


@pytest.mark.slow
def test_a_folder_and_a_file_that_are_read_only() -> None:
    # Not in a folder of pytest, which is closed to others.
    with TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        job = Path(place, "job")
        filled(job)
        (job / NAME).chmod(0o444)
        for mode, said in (
            (0o555, "cannot write to it (Permission denied)"),
            (0o777, f"{NAME} is read-only"),
        ):
            job.chmod(mode)
            code = """
                os.geteuid() or os.seteuid(65534)
                for use in (Journal.open, lambda folder: Journal.check(folder, {})):
                    try:
                        use(folder)
                    except ValueError as error:
                        print(error)
            """
            done = python(code, job)
            job.chmod(0o755)
            assert done.stdout == 2 * f"JOBDIR={str(job)!r}: {said}\n", done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a disk")
def test_a_disk_that_is_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(disk)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    try:
        rest = disk / "rest"
        rest.write_bytes(bytes(400 * 1024))
        assert fault(disk / "job") == "cannot write to it (No space left on device)"
        os.truncate(rest, 200 * 1024)
        with closing(Journal.open(disk / "job")) as journal:
            journal.commit(lines=[(1, MARK)])
            os.truncate(rest, 0)
            with rest.open("wb", buffering=0) as file, suppress(OSError):
                while True:
                    file.write(bytes(4096))
            with pytest.raises(JournalError) as raised:
                journal.commit(lines=((n, MARK) for n in range(2, 9000)), search_id="a", summary={})
            assert str(raised.value) == (
                f"JOBDIR={str(disk / 'job')!r}: {NAME} cannot be used (database or disk is full)"
            )
            assert [journal.is_done(n, MARK) for n in (1, 2, 8999)] == [True, False, False]
            rest.unlink()
            journal.commit(lines=[(2, MARK)])
        with closing(Journal.open(disk / "job")) as journal:
            assert journal.done() == 2
            assert journal.summary("a") is None
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_lines_that_cannot_be_read_leave_nothing_half_done(journal: Journal) -> None:
    def lines() -> Iterator[tuple[int, bytes]]:
        yield 1, MARK
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        journal.commit(lines=lines())
    assert not journal.is_done(1, MARK)
    journal.commit(lines=[(2, MARK)])
    assert journal.done() == 1


@pytest.mark.slow
def test_a_write_that_fails(tmp_path: Path) -> None:
    code = """
        import resource
        journal = Journal.open(folder)
        journal.commit(lines=[(1, b"")])
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
        try:
            journal.commit(lines=((n, b"12345678") for n in range(2, 20_000)))
        except OSError as error:
            print(error)
        print(journal.done())
    """
    said = f"JOBDIR={str(tmp_path)!r}: {NAME} cannot be used (disk I/O error)\n1\n"
    assert python(code, tmp_path).stdout == said
    with closing(Journal.open(tmp_path)) as journal:
        assert journal.done() == 1


@pytest.mark.slow
def test_a_journal_that_was_deleted_by_half(tmp_path: Path) -> None:
    """What SQLite has beside a file would be taken for part of the new one."""
    code = """
        journal = Journal.open(folder)
        journal.commit(lines=[(1, b"")])
        os.kill(os.getpid(), signal.SIGKILL)
    """
    python(code, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {NAME, f"{NAME}-wal"}
    (tmp_path / NAME).unlink()
    with closing(Journal.open(tmp_path)) as journal:
        assert journal.done() == 0

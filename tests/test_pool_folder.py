"""Pools in a folder: what is saved comes back, and whatever else is there does no harm."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
import zlib
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.crawls import PROJECT
from tests.support.examples import examples
from tplspider.pools import store
from tplspider.pools.pool import LARGEST, Pool, PooledPage
from tplspider.pools.store import NAME, PoolFolder, file_name, locked

if TYPE_CHECKING:
    from collections.abc import Callable

SITE = "a.org"


def page(name: object, content: object = None, *, site: str = SITE, taken: float = 0) -> PooledPage:
    words = f"<p>Words of {name if content is None else content}"
    return PooledPage.of(f"http://{site}/{name}", words, taken=taken)


def pages(*names: object) -> list[PooledPage]:
    return [*Pool(page(name) for name in names)]


@pytest.fixture
def folder(tmp_path: Path) -> PoolFolder:
    return PoolFolder(tmp_path / "some" / "where")


def the_file(folder: PoolFolder, site: str = SITE) -> Path:
    return folder.directory / file_name(site)


def names_in(folder: PoolFolder) -> list[str]:
    return sorted(path.name for path in folder.directory.iterdir())


def lines(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    """What was logged, DEBUG left out, as level and line."""
    found = [(each.levelno, each.getMessage()) for each in caplog.records if each.levelno > 10]
    assert not any("\n" in line for _, line in found)
    assert not any(each.exc_info for each in caplog.records)
    caplog.clear()
    return found


def test_what_is_saved_comes_back(folder: PoolFolder) -> None:
    assert folder.load(SITE) == []
    saved = [*Pool([page("x", "Äpfel \0 苹果", taken=12.5), page("y?z=1", "", taken=1)])]
    folder.save(SITE, saved)
    found = folder.load(SITE)
    assert found == saved
    assert [each.taken for each in found] == [each.taken for each in saved]
    assert [each.html for each in found] == [each.html for each in saved]
    assert names_in(folder) == ["a.org.pool", NAME]


def test_no_code_is_in_the_file(folder: PoolFolder) -> None:
    folder.save(SITE, pages(1, 2))
    header = json.loads(the_file(folder).read_bytes().partition(b"\n")[0])
    assert (header["format"], header["version"], header["site"]) == ("tplspider pool", 1, SITE)
    assert {row["url"] for row in header["pages"]} == {"http://a.org/1", "http://a.org/2"}


hosts = st.one_of(
    st.text(max_size=300),
    st.text("aA./\\:~+-_0\0 ", max_size=12),
    st.from_regex(r"[a-z0-9-]{1,5}(\.[a-z]{1,3}){0,3}(:[0-9]{1,6})?", fullmatch=True),
)


@examples(40)
@given(st.sets(hosts, max_size=20))
def test_names_of_files(sites: set[str]) -> None:
    names = {file_name(site) for site in sites}
    assert len({name.lower() for name in names}) == len(sites)
    for name in names:
        assert name.isascii()
        assert len(name) < 200
        assert set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_.+~")
        assert Path(name).name == name
        assert not name.startswith((".", "-"))
        assert name.endswith(".pool")
        assert name not in {NAME, "new.tmp"}


@pytest.mark.parametrize(
    "site",
    [
        "..",
        "../../x",
        "/etc/passwd",
        "a" * 300 + ".org",
        "a\0b",
        "EXAMPLE.org",
        "nul.org",
        "",
        "b.",
    ],
)
def test_hostile_names(site: str, folder: PoolFolder) -> None:
    """Whatever a site is called, its pool is a file in the folder."""
    # The pages of such a site are nowhere: an address that says so would not be its own.
    folder.save(site, [])
    assert names_in(folder) == sorted([file_name(site), NAME])
    assert "~" in file_name(site)
    assert folder.load(site) == []


def reseal(header: bytes, rest: bytes) -> bytes:
    """The file that somebody would make who knows the format."""
    body = header + b"\n" + rest
    return body + blake2b(body, digest_size=32).digest()


def with_header(data: bytes, **changes: object) -> bytes:
    line, _, rest = data.partition(b"\n")
    return reseal(json.dumps({**json.loads(line), **changes}).encode(), rest[:-32])


def with_page(html: bytes, **changes: object) -> bytes:
    packed = zlib.compress(html)
    row = {
        "url": "http://a.org/x",
        "taken": 0,
        "size": len(html),
        "packed": len(packed),
        "digest": blake2b(html, digest_size=16).hexdigest(),
    }
    header = {"format": "tplspider pool", "version": 1, "site": SITE, "pages": [{**row, **changes}]}
    return reseal(json.dumps(header).encode(), packed)


def test_the_files_of_these_tests_are_pools(folder: PoolFolder) -> None:
    the_file(folder).write_bytes(with_page(b"<p>x"))
    assert [each.html for each in folder.load(SITE)] == ["<p>x"]


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda data: b"", "it is not the file of a pool"),
        (lambda data: data[:100], "it is not the file of a pool"),
        (lambda data: data[:-1], "it is damaged (cut off"),
        (lambda data: data + b"x", "it is damaged (cut off"),
        (lambda data: data[:-40] + b"x" + data[-39:], "it is damaged (the checksum is wrong)"),
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "it is damaged (the checksum is wrong)"),
        (lambda data: os.urandom(5000), "it is"),
        (lambda data: b"\n" * 100, "it is damaged (out of form)"),
        (lambda data: b"[" * 100_000 + b"\n", "it is damaged (out of form)"),
        (lambda data: b"[1, 2]\n", "it is not the file of a pool"),
        (lambda data: b"cposix\nsystem\n(S'touch /tmp/x'\ntR.", "it is damaged (out of form)"),
        (lambda data: with_header(data, version=2), "it is of another version (2, and here it is"),
        (lambda data: with_header(data, site="b.org"), "it is of another site ('b.org')"),
        (lambda data: with_header(data, site=7), "it is of another site (7)"),
        (lambda data: with_header(data, pages=[7]), "it is damaged (out of form)"),
        (lambda data: with_header(data, pages=None), "it is damaged (out of form)"),
        (lambda data: with_page(b"x", size=2), "a page is not what it says"),
        (lambda data: with_page(b"x" * 5_000_000, size=1), "a page is not what it says"),
        (lambda data: with_page(b"x", digest="00"), "a page is not what it says"),
        (lambda data: with_page(b"x", size=LARGEST + 1), "its pages are too large"),
        (lambda data: with_page(b"x", size=-1), "it is damaged (out of form)"),
        (lambda data: with_page(b"x", taken="now"), "it is damaged (out of form)"),
        (lambda data: with_page(b"x", taken=10**400), "it is damaged (out of form)"),
        (lambda data: with_page(b"x", taken=float("inf")), "it is damaged (out of form)"),
        (lambda data: with_page(b"x", taken=float("nan")), "it is damaged (out of form)"),
        (lambda data: with_page(b"\xff"), "it is damaged (out of form)"),
        (lambda data: with_page(b"x", url="http://b.org/x"), "a page of another site"),
        (lambda data: with_page(b"x", url=None), "a page of another site"),
    ],
)
def test_a_file_that_is_of_no_use(
    folder: PoolFolder,
    caplog: pytest.LogCaptureFixture,
    damage: Callable[[bytes], bytes],
    words: str,
) -> None:
    """One line, once; and the pool is built anew."""
    folder.save(SITE, pages(1, 2))
    file = the_file(folder)
    file.write_bytes(damage(file.read_bytes()))
    assert folder.load(SITE) == []
    folder.save(SITE, pages(3))
    ((level, line),) = lines(caplog)
    assert level == logging.WARNING
    assert line.startswith(f"The pool {file} is not used: ")
    assert words in line
    assert folder.load(SITE) == pages(3)
    assert lines(caplog) == []
    assert folder.faults == 0


@pytest.mark.slow
def test_a_bomb_is_not_unpacked(folder: PoolFolder) -> None:
    """A page that claims less than is in it costs no more than what it claims."""
    code = (
        "import resource, sys; from tplspider.pools.store import PoolFolder;"
        "folder = PoolFolder(sys.argv[1]); folder.load('b.org');"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss;"
        "found = folder.load('a.org');"
        "print(len(found), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    bomb = with_page(bytes(100_000_000), size=1000)
    the_file(folder).write_bytes(bomb)
    assert len(bomb) < 1_000_000
    done = run(code, folder.directory)
    found, kilobytes = map(int, done.stdout.split())
    assert (found, done.returncode) == (0, 0)
    assert kilobytes < 30_000
    assert done.stderr.count("\n") == 1


def run(code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def make_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (make_link, "it is a symbolic link"),
        (os.mkfifo, "it is not a file"),
        (Path.mkdir, "it is not a file"),
    ],
)
def test_something_else_in_place_of_a_file(
    folder: PoolFolder,
    caplog: pytest.LogCaptureFixture,
    make: Callable[[Path], object],
    words: str,
) -> None:
    """A line says so, nothing is waited for, and nothing is replaced."""
    make(the_file(folder))
    before = os.lstat(the_file(folder))
    assert folder.load(SITE) == []
    assert folder.load(SITE) == []
    ((level, line),) = lines(caplog)
    assert (level, words in line) == (logging.WARNING, True)
    folder.save(SITE, pages(1))
    ((level, line),) = lines(caplog)
    told = f"Pools cannot be saved in {folder.directory}: a.org.pool is not a file"
    assert (level, line) == (logging.ERROR, told)
    assert os.lstat(the_file(folder)).st_ino == before.st_ino
    assert folder.faults == 1
    folder.save("b.org", [page(1, site="b.org")])
    assert len(folder.load("b.org")) == 1


@pytest.mark.parametrize("make", [make_link, os.mkfifo, Path.mkdir])
def test_something_else_in_place_of_the_lock(
    folder: PoolFolder, caplog: pytest.LogCaptureFixture, make: Callable[[Path], object]
) -> None:
    make(folder.directory / NAME)
    folder.save(SITE, pages(1))
    folder.save(SITE, pages(2))
    ((level, line),) = lines(caplog)
    assert level == logging.ERROR
    assert line.startswith(f"Pools cannot be saved in {folder.directory}: ")
    assert folder.faults == 2


def test_a_folder_that_is_gone(folder: PoolFolder, caplog: pytest.LogCaptureFixture) -> None:
    folder.directory.rmdir()
    assert folder.load(SITE) == []
    folder.save(SITE, pages(1))
    folder.save("b.org", [])
    ((level, line),) = lines(caplog)
    assert (level, "No such file" in line) == (logging.ERROR, True)


@pytest.mark.parametrize("place", ["/proc/nowhere", "{file}", "{file}/below", "{folder}/a\0b"])
def test_a_folder_that_cannot_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    directory = place.format(file=tmp_path / "file", folder=tmp_path)
    with pytest.raises(ValueError, match=r"cannot be a folder for pools: [^\n]+$"):
        PoolFolder(directory)


@pytest.mark.slow
def test_a_full_disk(folder: PoolFolder) -> None:
    """What cannot be written is told once, and what was there stays."""
    code = (
        "import resource, signal, sys; from tests.test_pool_folder import *;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "sys.dont_write_bytecode = True; before = resource.getrlimit(resource.RLIMIT_FSIZE);"
        "folder = PoolFolder(sys.argv[1]);"
        "noise = ' '.join(str(n * 7919 % 100_003) for n in range(20_000));"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4000, before[1]));"
        "folder.save(SITE, [page(1), page(2, noise)]); folder.save(SITE, [page(3, noise)]);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, before);"
        "print(len(folder.load(SITE)), folder.faults)"
    )
    folder.save(SITE, pages(1))
    done = run(code, folder.directory)
    assert done.stdout.split() == ["1", "2"]
    assert done.stderr == f"Pools cannot be saved in {folder.directory}: File too large\n"
    assert names_in(folder) == ["a.org.pool", NAME]


def test_the_newest_content_of_an_address_stays(folder: PoolFolder) -> None:
    folder.save(SITE, [page("x", "new x", taken=2), page("y", "old y", taken=1)])
    folder.save(SITE, [page("x", "old x", taken=1), page("y", "new y", taken=2)])
    found = {each.url[-1]: each.html for each in folder.load(SITE)}
    assert found == {"x": "<p>Words of new x", "y": "<p>Words of new y"}


def test_merging_makes_the_pool_of_all_pages(folder: PoolFolder) -> None:
    everything = [page(number) for number in range(100)]
    folder.save(SITE, Pool(everything[:60]).pages)
    folder.save(SITE, Pool(everything[40:]).pages)
    assert folder.load(SITE) == [*Pool(everything)]
    larger = Pool(everything, most=70)
    folder.save(SITE, larger.pages)
    assert folder.load(SITE) == [*larger]


WRITER = """
import sys
from tests.test_pool_folder import *
folder, first, count, rounds = PoolFolder(sys.argv[1]), *map(int, sys.argv[2:])
print("ready", flush=True)
sys.stdin.readline()
for number in range(rounds):
    folder.save(SITE, pages(*range(first + number * count, first + number * count + count)))
print(folder.faults)
"""


def writer(folder: PoolFolder, *arguments: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(folder.directory), *map(str, arguments)],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_processes_that_share_a_folder(folder: PoolFolder) -> None:
    """Whoever saves last, the file has the pool of all that was saved."""
    processes = [writer(folder, 1000 * number, 5, 40) for number in range(3)]
    for process in processes:
        assert process.stdout
        assert process.stdout.readline() == "ready\n"
    for process in processes:  # at once
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=60)[0] for process in processes]
    assert outputs == ["0\n"] * 3
    everything = [page(1000 * n + m) for n in range(3) for m in range(200)]
    assert folder.load(SITE) == [*Pool(everything)]
    assert names_in(folder) == ["a.org.pool", NAME]


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_saves(
    folder: PoolFolder, caplog: pytest.LogCaptureFixture
) -> None:
    """The file is whole at any moment, and the next one to save is not kept waiting."""
    noise = " ".join(str(number * 7919 % 100_003) for number in range(20_000))
    first = page("large", noise)
    folder.save(SITE, [first])
    new, leftovers = folder.directory / "new.tmp", 0
    for attempt in range(8):
        process = writer(folder, 1000 * attempt, 5, 100_000)
        assert process.stdout
        assert process.stdin
        assert process.stdout.readline() == "ready\n"
        process.stdin.write("go\n")
        process.stdin.flush()
        while not new.exists():
            pass
        process.kill()
        process.communicate()
        leftovers += new.exists()
        found = folder.load(SITE)
        after = page(f"after{attempt}")
        folder.save(SITE, [after])
        assert not new.exists()
        assert folder.load(SITE) == [*Pool([*found, after])]
    assert leftovers  # or the test proves nothing
    assert lines(caplog) == []
    assert folder.faults == 0


def test_one_who_does_not_let_go_is_waited_for_once(
    folder: PoolFolder, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "SECONDS", 1.0)
    folder = PoolFolder(folder.directory)
    begun = time.monotonic()
    with locked(folder.directory):
        for name in range(50):
            folder.save(SITE, pages(name))
    assert 1 <= time.monotonic() - begun < 10
    ((level, line),) = lines(caplog)
    assert (level, folder.faults) == (logging.ERROR, 50)
    assert line.endswith("another process has kept pools.lock for 1 s")
    folder.save(SITE, pages(1))
    assert folder.load(SITE) == pages(1)


def test_one_who_keeps_the_lock(folder: PoolFolder) -> None:
    with locked(folder.directory), pytest.raises(TimeoutError, match="another process"):  # noqa: SIM117 - the outer one has it
        with locked(folder.directory, seconds=0.05):
            pass
    with locked(folder.directory, seconds=0):
        pass

import logging
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.crawls import PROJECT
from tplspider.pools.pool import Pool, PooledPage
from tplspider.pools.store import KEPT, PoolFolder

SITE = "a.org"


def page(name: object, content: object = None, *, taken: float = 0) -> PooledPage:
    words = f"<p>Words of {name if content is None else content}"
    return PooledPage.of(f"http://{SITE}/{name}", words, taken=taken)


def pages(*names: object) -> list[PooledPage]:
    return [*Pool(page(name) for name in names)]


@pytest.fixture
def folder(tmp_path: Path) -> PoolFolder:
    return PoolFolder(tmp_path / "some" / "where")


def test_what_is_saved_comes_back(folder: PoolFolder) -> None:
    assert folder.load(SITE) == []
    saved = [*Pool([page("x\udcff", "Äpfel \0 苹果", taken=12.5), page("y?z=1", "", taken=1)])]
    saved[0].packed_signs = saved[1].signs().packed()
    folder.save(SITE, saved)
    folder.save("b.org", pages(1))
    found = PoolFolder(folder.directory).load(SITE)
    assert found == saved
    for name in ("taken", "html", "size", "packed_signs"):
        assert [getattr(each, name) for each in found] == [getattr(each, name) for each in saved]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), unique=True, max_size=12),
    st.integers(0, 12),
    st.integers(1, 6),
)
def test_what_is_saved_is_merged(
    tmp_path_factory: pytest.TempPathFactory, given: list[tuple[int, int]], cut: int, most: int
) -> None:
    """Of an address with several contents that counts which was taken last."""
    folder = PoolFolder(tmp_path_factory.mktemp("pools"), pool=most)
    every = [page(*names, taken=number) for number, names in enumerate(given)]
    old, new = Pool(every[:cut]), Pool(every[cut:])
    folder.save(SITE, new)
    folder.save(SITE, old)
    in_order = sorted([*old, *new], key=lambda each: each.taken)
    # The pages of the second are as many as are given, at most.
    wanted = Pool(in_order, most=max(most, len(old)))
    assert {*folder.load(SITE)} <= {*wanted} | {*in_order}
    if len(in_order) <= most:
        assert folder.load(SITE) == [*wanted]


@pytest.mark.parametrize("content", [b"x" * 5000, b"SQLite format 3\0" + b"\1" * 5000])
def test_a_damaged_file(
    folder: PoolFolder, caplog: pytest.LogCaptureFixture, content: bytes
) -> None:
    """It is logged once, and counted for each pool that could not be saved."""
    (folder.directory / KEPT).write_bytes(content)
    assert folder.load(SITE) == []
    assert folder.faults == 0
    folder.save(SITE, pages(1))
    folder.save(SITE, pages(2))
    assert folder.faults == 2
    (record,) = [each for each in caplog.records if each.levelno > logging.DEBUG]
    assert record.levelno == logging.WARNING
    assert "\n" not in record.getMessage()
    assert (folder.directory / KEPT).read_bytes() == content


@pytest.mark.parametrize("place", ["/proc/nowhere", "{file}", "{file}/below", "{folder}/a\0b"])
def test_a_folder_that_cannot_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    directory = place.format(file=tmp_path / "file", folder=tmp_path)
    with pytest.raises(ValueError, match=r"cannot be a folder for pools: [^\n]+$"):
        PoolFolder(directory)
    with pytest.raises(ValueError, match="expected a whole number"):
        PoolFolder(tmp_path, pool=0)


WRITER = """
import sys
from tests.test_store import SITE, PoolFolder, page
folder, first = PoolFolder(sys.argv[1], pool=1_000_000), int(sys.argv[2])
print("ready", flush=True)
for number in range(int(sys.argv[3])):
    folder.save(SITE, [page(first + number)])
    print(number, flush=True)
assert not folder.faults
"""


def writer(folder: PoolFolder, first: int, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(folder.directory), str(first), str(count)]
    process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.slow
def test_processes_share_a_folder(folder: PoolFolder) -> None:
    processes = [writer(folder, 1000 * number, 30) for number in range(3)]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0]
    every = [page(1000 * n + m) for n in range(3) for m in range(30)]
    assert folder.load(SITE) == [*Pool(every, most=1_000_000)]


@pytest.mark.slow
def test_a_process_that_is_killed_while_it_saves(folder: PoolFolder) -> None:
    """What it said to have saved is there, and the next to save need not wait."""
    folder = PoolFolder(folder.directory, pool=1_000_000)
    for attempt in range(4):
        process = writer(folder, 1000 * attempt, 100_000)
        assert process.stdout
        for number in range(3 + attempt):
            assert process.stdout.readline() == f"{number}\n"
        process.kill()
        process.communicate()
        folder.save(SITE, pages(f"after{attempt}"))
        assert folder.faults == 0
    said = [page(1000 * n + m) for n in range(4) for m in range(3 + n)]
    assert {*said, *pages(*(f"after{n}" for n in range(4)))} <= {*folder.load(SITE)}

"""What a command of a checkout leaves behind, without what differs from run to run."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.checkouts import SPIDER
from benchmarks.feed_fields import without_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from subprocess import CompletedProcess

    from benchmarks.checkouts import Checkout
    from benchmarks.compared_rows import Written

# Of others but tldextract, which warns when its cache is empty: of one crawl, whichever is first.
WARNINGS = re.compile(
    r"^\S+ \S+ \[(?!tldextract)\S+\] ((?:WARNING|ERROR|CRITICAL): .*)$", re.MULTILINE
)
STATS = re.compile(r"'(?:tplspider/|finish_reason)[^\n]*", re.MULTILINE)
LOGGED = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[", re.MULTILINE)
# How far it is, told from time to time: a slow machine tells it more often.
PROGRESS = re.compile(r"\d+ of \d+ .*/s\b")
# What depends on the order in which pages arrive, where several are in flight; no answer does.
BY_ARRIVAL = ("wasted", "shared")
LAST = ("template_share",)  # stats of whichever search of a list is the last


@dataclass(frozen=True)
class Case:
    """Something that both checkouts do; *ignored* are columns and stats that time decides on."""

    title: str
    run: Callable[[Checkout], Written]
    ordered: bool = True
    ignored: tuple[str, ...] = ()


@contextmanager
def case_folder(checkout: Checkout) -> Iterator[Path]:
    """A folder for the files of one case."""
    with TemporaryDirectory(dir=checkout.scratch) as name:
        yield Path(name)


def normal(text: str, checkout: Checkout, folder: Path) -> bytes:
    """Words for people without folders and times."""
    for place, name in ((folder, "FOLDER"), (checkout.folder, "CHECKOUT")):
        text = text.replace(str(place), name)
    text = re.sub(r"\b[0-9.]+ (m?s|seconds?)\b", r"# \1", text)
    return re.sub(r"\b\d+:\d\d\b(?!:)", "#:##", text).encode()


def files_of(folder: Path) -> Written:
    """The files that a command has written, by their names."""
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def told(
    done: CompletedProcess[str],
    checkout: Checkout,
    folder: Path,
    *,
    name: str = "",
    without: Collection[str] = (),
) -> Written:
    """What a command says: our lines of the log and warnings of all, our stats, its exit status.

    *name* stands before the names of these, where one case has several commands; stats *without*
    some, which may be columns as well.
    """
    spider = re.escape(checkout.renamed(SPIDER))
    ours = re.compile(rf"^\S+ \S+ \[(?:tplspider[\w.]*|{spider})\] (\w+: .*)$", re.MULTILINE)
    log, _, dump = done.stderr.partition("Dumping Scrapy stats:")
    others = WARNINGS.findall(ours.sub("", done.stderr))
    stats = "\n".join(line.rstrip("},") for line in STATS.findall(dump))
    lines = [*ours.findall(done.stderr), *others]
    if not LOGGED.search(log):  # lines for people alone
        lines = [line for line in done.stderr.splitlines() if not PROGRESS.search(line)]
    return {
        f"{name}log": normal("\n".join(lines), checkout, folder),
        f"{name}stats": without_fields("stats", normal(stats, checkout, folder), without),
        f"{name}exit status": str(done.returncode).encode(),
    }

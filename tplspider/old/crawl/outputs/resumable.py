"""Feeds that go on after a restart: cut back to what is known to be done, then added to.

That takes local files in a format that can grow and be cut back: JSON lines or CSV.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.exporters import CsvItemExporter, JsonLinesItemExporter
from scrapy.extensions.feedexport import FileFeedStorage
from scrapy.utils.misc import load_object

from tplspider.old.crawl.outputs.whole_file import WholeFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import IO, Protocol

    from scrapy.settings import BaseSettings

    from tplspider.old.crawl.outputs.feeds import OutputPlan
    from tplspider.old.crawl.outputs.plan import Feed, Output

    class FedFile(Protocol):
        """The file of an exporter, which keeps its first fault."""

        inner: IO[bytes]
        fault: Exception | None

        def flush(self) -> None: ...


_CHANGING = re.compile(r"%\((time|batch_time|batch_id)\)")


@dataclass(frozen=True)
class FeedFile:
    """The one file of a feed that goes on. *is_csv*: it starts with a header, which comes once.

    *is_mixed*: what it holds of several searches comes as it happens, and not one after the other.
    """

    label: str
    uri: str
    path: Path
    overwrite: bool
    is_csv: bool
    description: str
    is_mixed: bool = False


def check_resumable(feed: Feed, output: Output, settings: BaseSettings, folder: str) -> FeedFile:
    """The file of a feed that can go on after a restart; ValueError, in one line, if it cannot.

    *folder* is TPLSPIDER_FEEDS_DIR as it was given: the file may be in it.
    """
    options = feed.options
    fault = f"{feed.label} cannot go on after a restart (JOBDIR)"
    if output.is_standard_output or not output.paths:
        raise ValueError(f"{fault}: give it a local file")
    storages = settings.getwithbase("FEED_STORAGES")
    storage = load_object(storages.get(urlsplit(output.uri).scheme) or storages["file"])
    if storage is not FileFeedStorage:
        raise ValueError(f"{fault}: {storage.__name__} stores it in its own way")
    exporter = load_object(settings.getwithbase("FEED_EXPORTERS")[options["format"]])
    is_csv = issubclass(exporter, CsvItemExporter)
    if not is_csv and not issubclass(exporter, JsonLinesItemExporter):
        raise ValueError(f"{fault}: its format is {options['format']}: make it .jl or .csv")
    if options.get("postprocessing"):
        raise ValueError(f"{fault}: it is compressed, or changed in another way, when written")
    if options.get("batch_item_count", settings.getint("FEED_EXPORT_BATCH_ITEM_COUNT")):
        raise ValueError(f"{fault}: it is written in batches")
    check_name(fault, feed.name if feed.by == "scrapy" else f"{folder}/{feed.name}")
    columns = options.get("fields") or settings.getdictorlist("FEED_EXPORT_FIELDS")
    if is_csv and not columns:
        raise ValueError(f"{fault}: its columns are not known: give it fields, or make it .jl")
    path = output.paths[0]
    if path.exists() and not path.is_file():
        raise ValueError(f"{fault}: it is not a plain file")
    classes = [load_object(each).__name__ for each in options.get("item_classes") or ()]
    about = [options["format"], options.get("encoding") or "", *classes, *(columns or ())]
    return FeedFile(feed.label, output.uri, path, output.overwrite, is_csv, " ".join(about))


def check_name(fault: str, name: str) -> None:
    """Raise ValueError, in one line that starts with *fault*, for a name that changes."""
    if field := _CHANGING.search(name):
        raise ValueError(f"{fault}: {field[0]}s gives it another name each time")


def describe(plan: OutputPlan) -> dict[str, str]:
    """What a journal remembers of the feeds: others cannot go on where these were."""
    return {f"feed {str(file.path)!r}": file.description for file in plan.files}


class FeedFiles:
    """The files of a journal's feeds: how long they were when it last called something done.

    *committed* are those lengths by absolute path, and *record* puts first lengths down.
    """

    def __init__(
        self, committed: dict[str, int], record: Callable[[Mapping[str, int]], None]
    ) -> None:
        self.committed = committed
        self._record = record
        self._opened: dict[str, FedFile] = {}
        self._with_header: set[str] = set()
        self._mixed: set[str] = set()
        self._changed: set[Path] = set()  # folders with names that a loss of power would take

    def check(self, files: Iterable[FeedFile]) -> None:
        """Raise ValueError, in one line, for a file that has lost what was written to it."""
        for file in files:
            length = self.committed.get(str(file.path), 0)
            if _size(file.path) < length:
                state = "shorter than it was" if file.path.exists() else "gone"
                raise ValueError(
                    f"{file.label} cannot go on (JOBDIR): it is {state}, and held {length} bytes of"
                    " searches that are done: put it back, or give another JOBDIR"
                )

    def start(self, files: Iterable[FeedFile]) -> None:
        """Begin with what was committed; at the first start with what is there, or nothing.

        Raises ValueError for a file that has lost what was written to it.
        """
        files = list(files)
        self._with_header = {str(file.path) for file in files if file.is_csv}
        self._mixed = {str(file.path) for file in files if file.is_mixed}
        self.check(files)
        new = {
            str(file.path): 0 if file.overwrite else _size(file.path)
            for file in files
            if str(file.path) not in self.committed
        }
        if new:
            self._record(new)
            self.committed.update(new)
        self.cut_back()

    def has_header(self, file: FeedFile) -> bool:
        """Whether a file, once started, needs no header line: it is a CSV with content."""
        return file.is_csv and self.committed[str(file.path)] > 0

    def open(self, path: Path) -> IO[bytes]:
        """A file for a feed to go on with, at its end."""
        length = self.committed.get(str(path))
        if length is None:
            raise OSError("it is not one of the journal's files")
        self._changed |= {each.parent for each in (path, *path.parents) if not each.exists()}
        path.parent.mkdir(parents=True, exist_ok=True)
        file = WholeFile(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o666), "wb")
        if os.fstat(file.fileno()).st_size < length:
            file.close()
            raise OSError("it is shorter than it was")
        file.truncate(length)
        file.seek(length)
        return file

    def opened(self, path: Path, file: FedFile) -> None:
        """Remember the file that a feed writes to, with whatever is wrong with it."""
        self._opened[str(path)] = file

    def lengths(self) -> dict[str, int]:
        """How long each file is now; OSError, in one line, if one could not be written."""
        lengths = dict(self.committed)
        for path, file in self._opened.items():
            if not file.inner.closed:
                file.flush()
            if file.fault is not None:
                why = getattr(file.fault, "strerror", None) or file.fault
                raise OSError(f"{path} cannot be written: {why}")
            if not file.inner.closed and not _is_at(path, file.inner):
                raise OSError(f"{path} is gone, or another file, since it was opened")
            lengths[path] = _size(Path(path)) if file.inner.closed else file.inner.tell()
        return lengths

    def sync(self, lengths: Mapping[str, int]) -> None:
        """Let what was written, up to these lengths, outlast a loss of power."""
        for path, file in self._opened.items():
            if lengths[path] != self.committed[path]:
                sync_to_disk(Path(path)) if file.inner.closed else os.fsync(file.inner.fileno())
        for folder in self._changed:
            sync_to_disk(folder)
        self._changed.clear()

    def cut_back(self) -> None:
        """Take away what was written and never called done.

        At the end of a crawl before Scrapy closes its feeds: it may add a header to an empty one.
        A mixed file is left to the next start: it holds what others will call done.
        """
        for path, committed in self.committed.items():
            if path in self._mixed and path in self._opened:
                continue
            length = committed
            if not length and path in self._opened and path in self._with_header:
                length = _first_line(Path(path))  # which is not written a second time
            if _size(Path(path)) > length:
                os.truncate(path, length)
            file = self._opened.get(path)
            if file and file.fault is None and not file.inner.closed:
                file.inner.seek(length)


def _first_line(path: Path) -> int:
    try:
        with path.open("rb") as file:
            return len(file.readline())
    except FileNotFoundError:
        return 0


def _is_at(path: str, file: IO[bytes]) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))  # noqa: PTH116 - as samestat
    except OSError:
        return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return 0


def sync_to_disk(path: Path) -> None:
    """Let a file, or the names in a folder, outlast a loss of power."""
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

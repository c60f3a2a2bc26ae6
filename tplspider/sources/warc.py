"""WARC files as a source of pages: what was captured at an address, found by the index."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from tplspider.sources.open_files import OpenFiles
from tplspider.sources.unread import Unread
from tplspider.sources.warc_answers import answer_of, date_of_other
from tplspider.sources.warc_capture import ALIAS, Capture, capture_of
from tplspider.sources.warc_copies import COPIED, copy_of
from tplspider.sources.warc_index import Place, WarcIndex, stored_key
from tplspider.sources.warc_records import read_at
from tplspider.web.addresses import identity, place_of
from tplspider.web.page import NOT_ARCHIVED, NoPage, Redirect, WebPage

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path
    from typing import Self

    from tplspider.sources.warc_lengths import ScannedRecord

LARGEST = 10 * 1024 * 1024  # bytes of a page, as what is loaded in a crawl by default
_MOST_ALIASES = 5  # that lead from one capture to the next
_MOST_READ = 1000  # records for one address: captures that all name each other are beyond number


class CapturedSite(ABC):
    """All that was captured somewhere; *search* is a search whose own captures come first.

    Whoever knows where captures are says so in ``captures``, ``captures_at`` and ``pages_of``, and
    reads them.
    """

    def __init__(self, *, largest: int = LARGEST) -> None:
        self.search = ""
        self.misfits = 0  # records that are not what the index says
        self._unread = Unread()
        self._left = 0  # records that may be read for the address that is asked for
        self._largest = largest

    @abstractmethod
    def close(self) -> None:
        """Let go of whatever is open."""

    @abstractmethod
    def captures(self, key: int) -> Iterator[Place]:
        """The captures of an address, the best first."""

    @abstractmethod
    def captures_at(self, key: int, date: int) -> Iterator[Place]:
        """The captures of an address at that date, but for those that refer to others."""

    @abstractmethod
    def pages_of(self, site: str) -> Iterator[Place]:
        """The pages of a site by their keys, each by its best capture."""

    @abstractmethod
    def _read(self, place: Place) -> ScannedRecord | None:
        """The record at a place, if there is one; OSError if there is no telling."""

    @abstractmethod
    def _address(self, place: Place) -> str:
        """The file that a place is in, for people."""

    def take_unread(self) -> Unread:
        """What could not be fetched since this was asked last."""
        found, self._unread = self._unread, Unread()
        return found

    def load(self, url: str) -> WebPage | Redirect | NoPage:
        """What was captured at an address."""
        self._left = _MOST_READ
        return self._load(url, url, _MOST_ALIASES)

    def is_absent(self, url: str) -> bool:
        """Whether nothing is archived of an address; nothing is loaded to find out."""
        for place in self._places(url):
            if place.kind != ALIAS:
                return False
            return self.load(url) == NoPage(NOT_ARCHIVED)
        return True

    def page_at(self, place: Place) -> tuple[str, WebPage | NoPage] | None:
        """The address of a capture, and what it gives; None if the index is wrong about it."""
        found = self._right_one(place)
        if found is None:
            return None
        record, capture = found
        answer = answer_of(record, capture.url, self._largest)
        return capture.url, NoPage(NOT_ARCHIVED) if isinstance(answer, str) else answer

    def url_at(self, place: Place) -> str:
        """The address of a capture; '' if the index is wrong about it."""
        found = self._right_one(place)
        return found[1].url if found else ""

    def _load(self, url: str, asked: str, aliases: int) -> WebPage | NoPage:
        for place in self._places(url):
            found = self._next_one(place)
            if found is None:
                continue
            answer = answer_of(found[0], asked, self._largest)
            if not isinstance(answer, str):
                return answer
            if answer and aliases:
                other = self._load_other(found[0], answer, asked, aliases - 1)
                if other != NoPage(NOT_ARCHIVED):
                    return other
        return NoPage(NOT_ARCHIVED)

    def _load_other(
        self, found: ScannedRecord, url: str, asked: str, aliases: int
    ) -> WebPage | NoPage:
        """What a record refers to: the capture of that date, or else any."""
        if date := date_of_other(found):
            for place in self._places(url, date):
                other = self._next_one(place)
                answer = answer_of(other[0], asked, self._largest) if other else ""
                if not isinstance(answer, str):
                    return answer
        return self._load(url, asked, aliases)

    def _places(self, url: str, date: int = 0) -> Iterator[Place]:
        try:
            key = stored_key(place_of(identity(url)))
        except ValueError:  # not an address
            return iter(())
        return self.captures_at(key, date) if date else self.captures(key)

    def _next_one(self, place: Place) -> tuple[ScannedRecord, Capture] | None:
        """The same as the right one, as long as not too many were read."""
        self._left -= 1
        return self._right_one(place) if self._left >= 0 else None

    def _right_one(self, place: Place) -> tuple[ScannedRecord, Capture] | None:
        """The record at a place, if it has the address that the index says."""
        try:
            found = self._read(place)
        except OSError as error:
            # Not what the index is wrong about: the file may be as good as it was.
            why = " ".join(f"{self._address(place)}: {error.strerror or error}".split())
            self._unread = self._unread.and_more(Unread(1, why))
            return None
        capture = capture_of(found) if found else None
        if found and capture and stored_key(place_of(capture.identity)) == place.key:
            return found, capture
        self.misfits += 1
        return None


class WarcSite(CapturedSite):
    """All that was captured in some files.

    The index has to be there, and in step with the files: see :func:`open_archive`.
    """

    def __init__(
        self, index: WarcIndex, *, largest: int = LARGEST, files: Collection[int] | None = None
    ) -> None:
        known = index.files()
        if any(file.copy for file in known):
            largest = min(largest, COPIED)  # what is longer is not whole there
        super().__init__(largest=largest)
        self.index = index
        self._open: OpenFiles[int] = OpenFiles()
        self._paths = {
            file.number: copy_of(index.path, file.path) if file.copy else file.path
            for file in known
        }
        if files is not None:
            index.limit_to(files)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the files, and of the index."""
        self._open.close()
        self.index.close()

    def captures(self, key: int) -> Iterator[Place]:
        return self.index.captures(key, self.search)

    def captures_at(self, key: int, date: int) -> Iterator[Place]:
        return self.index.captures_at(key, date)

    def pages_of(self, site: str) -> Iterator[Place]:
        number = self.index.site_number(site)
        return iter(()) if number is None else self.index.pages_of(number)

    def _read(self, place: Place) -> ScannedRecord | None:
        path = self._paths.get(place.file)
        if path is None:  # another process has put a file into the index since
            return None
        file = self._open.get(place.file, lambda: path.open("rb"))
        try:
            return read_at(file, place.offset, self._largest)
        except OSError:
            self._open.drop(place.file)  # it may be there again, as another
            raise

    def _address(self, place: Place) -> str:
        return str(self._paths[place.file])


def site_of(index: Path, files: Collection[int] | None = None) -> WarcSite:
    """The archive of an index that is there: for whoever reads it beside the one that made it."""
    return WarcSite(WarcIndex(index, read_only=True), files=files)

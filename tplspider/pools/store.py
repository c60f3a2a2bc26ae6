"""Where pools are: some in memory, others in a temporary file, and in a folder between crawls."""

from __future__ import annotations

import json
import logging
import os
import re
import sqlite3
import stat
import sys
import time
import zlib
from collections import OrderedDict
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from tempfile import mkstemp
from typing import IO, TYPE_CHECKING, Any, Protocol, runtime_checkable

from tplspider.pools.pool import LARGEST, POOL, Pool, PooledPage, page_identity, page_site
from tplspider.web.addresses import place_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# A lock on a folder: one process, and one thread of it, at a time writes there.
#
# It is the system's own, so it goes with whoever holds it, however that ends.

NAME = "pools.lock"
SECONDS = 10.0  # that others are waited for: one of them writes a file
_LONGEST_PAUSE = 0.05
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_OPEN |= getattr(os, "O_CLOEXEC", 0)


@contextmanager
def locked(folder: Path, seconds: float = SECONDS, *, name: str = NAME) -> Iterator[None]:
    """Have the folder for oneself. Raises OSError where that cannot be, or takes too long."""
    descriptor = os.open(folder / name, _OPEN, 0o666)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{name} is not a file")
        _take(descriptor, seconds, name)
        yield
    finally:
        os.close(descriptor)  # which lets the lock go


def _take(descriptor: int, seconds: float, name: str) -> None:
    end, pause = time.monotonic() + seconds, 0.001
    while not _is_taken(descriptor):
        if time.monotonic() > end:
            raise TimeoutError(f"another process has kept {name} for {seconds:g} s")
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


if sys.platform == "win32":
    import msvcrt

    def _is_taken(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            return False
        return True

else:
    import fcntl

    def _is_taken(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


# A temporary file beside the memory, for what is not needed all the time.

_PRAGMAS = (
    "PRAGMA journal_mode = MEMORY",
    "PRAGMA synchronous = OFF",  # nobody goes on with it
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA cache_size = -256",  # kB
)


class SideFileError(Exception):
    """The disk is full, no folder can be written, or worse; it says so in one line."""


class SideFile:
    """Tables of SQLite in a file in TMPDIR, which is made when it is needed first.

    It has no name: the system takes it away, whatever way the process ends. What rows leave behind
    is used again. A process that is forked off begins with an empty one of its own: two would spoil
    it for each other. It may be used by one thread at a time.
    """

    def __init__(self, *tables: str) -> None:
        self._tables = tables
        self._opened: tuple[int, sqlite3.Connection] | None = None  # by which process

    @property
    def is_open(self) -> bool:
        """Whether there is a file, of this process."""
        return self._opened is not None and self._opened[0] == os.getpid()

    def run(self, statement: str, *values: object) -> list[Any]:
        """Run a statement; its rows. Raises SideFileError, and then nothing was changed."""
        with _faults():
            return self._connection().execute(statement, values).fetchall()

    def add(self, statement: str, *values: object) -> int:
        """Run a statement that adds a row; its number."""
        with _faults():
            return self._connection().execute(statement, values).lastrowid or 0

    def change(self, *statements: tuple[str, list[tuple[Any, ...]]]) -> None:
        """Run each statement with each of its rows, all of them or, with SideFileError, none."""
        with _faults(), self._connection() as connection:
            connection.execute("BEGIN")
            for statement, rows in statements:
                connection.executemany(statement, rows)

    def close(self) -> None:
        """Let go of the file and all that is in it."""
        if self._opened is not None and self.is_open:
            self._opened[1].close()
        self._opened = None

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None or not self.is_open:
            self._opened = os.getpid(), _new(self._tables)
        return self._opened[1]


def _new(tables: tuple[str, ...]) -> sqlite3.Connection:
    # SQLite has files without a name as well. But it writes them when its cache is full, not when
    # something is changed: on a full disk, what was taken already could not be read any more.
    descriptor, name = mkstemp(prefix="tplspider-")
    os.close(descriptor)
    try:
        if os.name == "nt":  # where a file that is in use keeps its name
            Path(name).unlink()
            name = ""
        made = sqlite3.connect(name, isolation_level=None, check_same_thread=False)
        try:
            for statement in (*_PRAGMAS, *tables):
                made.execute(statement)
        except sqlite3.Error:
            made.close()
            raise
        return made
    finally:
        with suppress(OSError):
            Path(name).unlink()


@contextmanager
def _faults() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise SideFileError(" ".join(str(error).split())) from error


# The file of a pool: a line of JSON, the packed pages, and a checksum of all that.
#
# Reading one runs no code that is in it, and takes no more memory than its size allows, however it
# was made: sizes are told first and held to.

FORMAT, VERSION = "tplspider pool", 1
LARGEST_POOL = 512_000_000  # bytes of HTML of all pages
_LONGEST_HEADER = 8_000_000
_CHECKSUM = 32  # bytes
_LATEST = 1e11  # seconds: some thousand years from now
# A link is not followed, and a pipe is not waited for; Windows knows neither.
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_READ |= getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class PoolFileError(ValueError):
    """A file that cannot be used as the pool of a site: it says why in one line."""


def write_pool(file: IO[bytes], site: str, pages: Iterable[PooledPage]) -> None:
    """Write pages, as many of them as a file may have."""
    kept, room = [], LARGEST_POOL
    for page in pages:
        if page.size <= min(LARGEST, room):
            room -= page.size
            kept.append(page)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "site": site,
        "pages": [
            {
                "url": page.url,
                "taken": page.taken,
                "size": page.size,
                "packed": len(page.packed),
                "digest": page.digest.hex(),
            }
            for page in kept
        ],
    }
    checksum = blake2b(digest_size=_CHECKSUM)
    for part in (json.dumps(header).encode() + b"\n", *(page.packed for page in kept)):
        checksum.update(part)
        file.write(part)
    file.write(checksum.digest())


def read_pool(path: Path, site: str) -> list[PooledPage]:
    """The pages in a file.

    Raises PoolFileError if it is not the pool of that site, OSError if it cannot be read.
    """
    if path.is_symlink():  # where the system cannot refuse to follow it
        raise PoolFileError("it is a symbolic link")
    descriptor = os.open(path, _READ)
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise PoolFileError("it is not a file")
        with open(descriptor, "rb", closefd=False) as file:
            return _read_file(file, found.st_size, site)
    finally:
        os.close(descriptor)


def _read_file(file: IO[bytes], size: int, site: str) -> list[PooledPage]:
    if size > LARGEST_POOL + _LONGEST_HEADER:
        raise PoolFileError(f"it is damaged ({size} bytes are too many)")
    try:
        return [*_read(file, size, site)]
    except PoolFileError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, zlib.error):
        raise PoolFileError("it is damaged (out of form)") from None


def _read(file: IO[bytes], size: int, site: str) -> Iterator[PooledPage]:
    line = file.readline(_LONGEST_HEADER)
    header = json.loads(line) if line.endswith(b"\n") else None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise PoolFileError("it is not the file of a pool, or damaged")
    if header["version"] != VERSION:
        found = f"{header['version']!r:.20}"
        raise PoolFileError(f"it is of another version ({found}, and here it is {VERSION})")
    rows = header["pages"]
    sizes = [_natural(row["packed"]) for row in rows]
    if len(line) + sum(sizes) + _CHECKSUM != size:
        raise PoolFileError("it is damaged (cut off, or something was added)")
    checksum = blake2b(line, digest_size=_CHECKSUM)
    parts = [file.read(each) for each in sizes]
    for part in parts:
        checksum.update(part)
    if checksum.digest() != file.read(_CHECKSUM):
        raise PoolFileError("it is damaged (the checksum is wrong)")
    unpacked = [_natural(row["size"]) for row in rows]
    if max(unpacked, default=0) > LARGEST or sum(unpacked) > LARGEST_POOL:
        raise PoolFileError("it is damaged (its pages are too large)")
    if header["site"] != site:
        raise PoolFileError(f"it is of another site ({header['site']!r:.60})")
    for row, packed in zip(rows, parts, strict=True):
        yield _page(row, packed, site)


def _page(row: dict[str, Any], packed: bytes, site: str) -> PooledPage:
    url, size = row["url"], _natural(row["size"])
    if not isinstance(url, str) or page_site(url) != site:
        raise PoolFileError("it is damaged (a page of another site)")
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(packed, size + 1)  # and not a byte more, whatever is in there
    digest = blake2b(text, digest_size=16).digest()
    rest = unpacker.unconsumed_tail or unpacker.unused_data
    if len(text) != size or not unpacker.eof or rest or digest.hex() != row["digest"]:
        raise PoolFileError("it is damaged (a page is not what it says)")
    text.decode("utf-8")
    identity = page_identity(url)
    return PooledPage(
        url, identity, place_of(identity), digest, packed, _moment(row["taken"]), size
    )


def _moment(value: object) -> float:
    """A time by the clock; of a clock that is far off, or of none, there is nothing to believe."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LATEST:
        raise PoolFileError("it is damaged (out of form)")
    return float(value)


def _natural(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError(value)
    return value


# Pools in a folder, a file for each site: kept from one crawl to the next.

logger = logging.getLogger(__name__)

ENDING = ".pool"
_NEW = "new.tmp"  # what is being written: whoever has the lock is the only one who writes
_LABEL = r"[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
_PLAIN = re.compile(rf"({_LABEL}(?:\.{_LABEL})+)(?::([0-9]{{1,5}}))?")
_LONGEST_NAME = 120
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com[0-9]|lpt[0-9])\.")  # names of devices on Windows


def file_name(site: str) -> str:
    """The name of the file of a site's pool: no two sites have the same, on any file system.

    >>> file_name("example.org"), file_name("example.org:8080")
    ('example.org.pool', 'example.org+8080.pool')
    >>> file_name("../Etc")
    'etc~5175f799daf2efc66564.pool'
    """
    plain = _PLAIN.fullmatch(site)
    if plain and len(site) <= _LONGEST_NAME and not _RESERVED.match(site):
        host, port = plain.groups()
        return f"{host}+{port}{ENDING}" if port else f"{host}{ENDING}"
    readable = re.sub(r"[^a-z0-9]+", "-", site[:200].lower()).strip("-")[:40]
    stand_in = blake2b(site.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()
    return f"{readable}~{stand_in}{ENDING}"


class PoolFolder:
    """Keeps pools in a folder, which is made if it is missing; at most *pool* pages of each site.

    A file is there as a whole or not at all: it is written under another name first. One that is
    damaged, from another version or of another site is told in a line of the log and counts as
    none. What goes wrong with the folder itself, or its disk, is told once, and counted as
    *faults*; nothing is raised but ValueError by the constructor.

    Threads and processes may share a folder. They save in turn, and a pool that is saved is merged
    with what is there: afterwards the file has the pool of all pages of both, and of an address
    with several contents that which was taken last, by the clock. A pool that was loaded before
    does not see what others save.
    """

    def __init__(self, directory: str | os.PathLike[str], *, pool: int = POOL) -> None:
        self.directory = Path(directory)
        self.faults = 0  # pools that could not be read or saved for want of a folder or a disk
        self._most = pool
        self._patience = SECONDS
        self._told: set[str] = set()  # files that are known to be of no use
        if pool < 1:
            raise ValueError(f"pool={pool!r}: expected a whole number, 1 or more")
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except (OSError, ValueError) as error:  # the latter of a name with a NUL
            raise ValueError(
                f"{str(directory)!r} cannot be a folder for pools: {_reason(error)}"
            ) from None

    def has(self, site: str) -> bool:
        """Whether there is anything in the place of a site's pool, of use or not."""
        return os.path.lexists(self.directory / file_name(site))

    def load(self, site: str) -> list[PooledPage]:
        """The pages of the pool of a site; none where there is none that can be used."""
        path = self.directory / file_name(site)
        try:
            return read_pool(path, site)
        except FileNotFoundError:
            pass
        except PoolFileError as error:
            self._tell(path, error)
        except OSError as error:
            self._fail(f"The pool {path} cannot be read", error)
        return []

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        """Keep these pages, together with those that are there."""
        path, given = self.directory / file_name(site), list(pages)
        try:
            with locked(self.directory, self._patience):
                merged = sorted((*self.load(site), *given), key=attrgetter("taken"))
                self._write(path, site, Pool(merged, most=max(self._most, len(given))))
        except OSError as error:
            self._fail(f"Pools cannot be saved in {self.directory}", error)
            if isinstance(error, TimeoutError):  # with thousands of pools to save, once is enough
                self._patience = 0
        else:
            self._told.discard(path.name)
            self._patience = SECONDS

    def _write(self, path: Path, site: str, pool: Pool) -> None:
        # Whoever put something else there had a reason: it is not ours to replace.
        if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
            raise OSError(f"{path.name} is not a file")
        new = self.directory / _NEW
        new.unlink(missing_ok=True)  # of one who was killed
        try:
            with new.open("xb") as file:
                write_pool(file, site, pool)
            new.replace(path)
        except BaseException:
            with suppress(OSError):
                new.unlink(missing_ok=True)
            raise

    def _tell(self, path: Path, error: PoolFileError) -> None:
        if path.name not in self._told:
            self._told.add(path.name)
            logger.warning("The pool %s is not used: %s", path, error)

    def _fail(self, what: str, error: OSError) -> None:
        """One line is enough, however many follow."""
        self.faults += 1
        level = logging.ERROR if self.faults == 1 else logging.DEBUG
        logger.log(level, "%s: %s", what, _reason(error))


def _reason(error: BaseException) -> str:
    return " ".join(str(getattr(error, "strerror", None) or error or type(error).__name__).split())


# The pools of sites that were not met lately: in a temporary file, not in memory.

FILE_MEGABYTES = 1000  # the pools of some thousand sites
_TABLES = (
    """CREATE TABLE sites (number INTEGER PRIMARY KEY, site BLOB NOT NULL UNIQUE,
       met INTEGER NOT NULL, seen INTEGER NOT NULL, changed INTEGER NOT NULL,
       size INTEGER NOT NULL)""",
    "CREATE INDEX by_met ON sites (met)",
    """CREATE TABLE pages (site INTEGER NOT NULL, place BLOB NOT NULL, digest BLOB NOT NULL,
       look BLOB, url BLOB NOT NULL, identity BLOB, taken REAL NOT NULL, size INTEGER NOT NULL,
       packed BLOB NOT NULL, PRIMARY KEY (site, place)) WITHOUT ROWID""",
)
_PLACE = 8  # bytes
_SITE, _PAGE = 200, 300  # bytes that a site, and a page in its pool, take beside packed HTML


@dataclass(slots=True)
class SitePool:
    """The pool of a site, and what is known of it beside."""

    pool: Pool
    seen: int = 0  # pages of the site
    met: int = 0  # how many pages of all sites had been added when its last one was
    changed: bool = False  # since it was loaded or saved


class PoolsAside:
    """Keeps pools in a file, of at most so many *megabytes*.

    Nothing is raised. What goes wrong with the file, or its disk, is told in one line for all; from
    then on no pool is taken, and one that cannot be read counts as none.
    """

    def __init__(self, megabytes: float = FILE_MEGABYTES) -> None:
        self._most = megabytes * 1_000_000
        self._size = 0  # bytes
        self._file = SideFile(*_TABLES)
        self._failed = False
        self._puts = 0

    def put(self, site: str, state: SitePool) -> bool:
        """Take the pool of a site, or what has changed of it; whether that could be done."""
        if self._failed:
            return False
        try:
            self._put(_bytes(site), state)
        except SideFileError as error:
            self._fail("Pools stay in memory, smaller where there are many", error)
            return False
        return True

    def get(self, site: str, most: int) -> SitePool | None:
        """The pool of a site as it was put, less what is more than *most* pages."""
        found = self._rows("SELECT number, seen, changed FROM sites WHERE site = ?", _bytes(site))
        if not found:
            return None
        ((number, seen, changed),) = found
        pages = self._rows(
            "SELECT place, digest, look, url, identity, taken, size, packed FROM pages"
            " WHERE site = ? ORDER BY place",
            number,
        )
        pool = Pool.restored(((_page_of_row(row), row[2]) for row in pages), most)
        return SitePool(pool, seen=seen, changed=bool(changed))

    def one_too_many(self) -> str | None:
        """If there is more than there may be, the site whose pool was put here longest ago."""
        if self._size <= self._most:
            return None
        found = self._rows("SELECT site FROM sites ORDER BY met LIMIT 1")
        return _text(found[0][0]) if found else None

    def drop(self, site: str) -> None:
        """Let go of the pool of a site."""
        name = _bytes(site)
        for number, size in self._rows("SELECT number, size FROM sites WHERE site = ?", name):
            self._change(
                ("DELETE FROM pages WHERE site = ?", [(number,)]),
                ("DELETE FROM sites WHERE number = ?", [(number,)]),
            )
            self._size -= size

    def changed(self) -> Iterator[str]:
        """The sites whose pools have changed, until that is said to be settled."""
        number, query = 0, "SELECT number, site FROM sites WHERE changed AND number > ? LIMIT 1"
        while found := self._rows(query, number):
            ((number, name),) = found
            yield _text(name)

    def settle(self, site: str) -> None:
        """The pool of a site was saved as it is."""
        self._change(("UPDATE sites SET changed = 0 WHERE site = ?", [(_bytes(site),)]))

    def _put(self, name: bytes, state: SitePool) -> None:
        run = self._file.run
        self._puts += 1
        found = run("SELECT number, size FROM sites WHERE site = ?", name)
        number, before = found[0] if found else (self._puts, 0)
        size = _SITE + _PAGE * len(state.pool) + state.pool.size
        known = {*run("SELECT place, digest, look FROM pages WHERE site = ?", number)}
        rows = {(_place(page), page.digest, look): page for page, look in state.pool.with_looks()}
        self._file.change(
            (
                "DELETE FROM pages WHERE site = ? AND place = ?",
                [(number, row[0]) for row in known - rows.keys()],
            ),
            (
                "INSERT OR REPLACE INTO pages VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [(number, *row, *_rest(rows[row])) for row in rows.keys() - known],
            ),
            (
                "INSERT OR REPLACE INTO sites VALUES (?, ?, ?, ?, ?, ?)",
                [(number, name, self._puts, state.seen, state.changed, size)],
            ),
        )
        self._size += size - before

    def _rows(self, query: str, *values: object) -> list[Any]:
        try:
            return self._file.run(query, *values) if self._file.is_open else []
        except SideFileError as error:
            self._fail("The pools of many sites are lost", error)
            self._file.close()
            self._size = 0
            return []

    def _change(self, *statements: tuple[str, list[tuple[Any, ...]]]) -> None:
        try:
            self._file.change(*statements)
        except SideFileError as error:
            self._fail("Pools stay in the file as they are", error)

    def _fail(self, what: str, error: SideFileError) -> None:
        level = logging.DEBUG if self._failed else logging.WARNING
        logger.log(level, "%s: a temporary file cannot be used (%s)", what, error)
        self._failed = True


def _place(page: PooledPage) -> bytes:
    return page.place.to_bytes(_PLACE)


def _rest(page: PooledPage) -> tuple[object, ...]:
    identity = None if page.identity == page.url else _bytes(page.identity)
    return _bytes(page.url), identity, page.taken, page.size, page.packed


def _page_of_row(row: tuple[Any, ...]) -> PooledPage:
    place, digest, _, url, identity, taken, size, packed = row
    address = _text(url)
    name = address if identity is None else _text(identity)
    return PooledPage(address, name, int.from_bytes(place), digest, packed, taken, size)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")  # what stands for no letter is in addresses, too


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


# The pools of all sites of a crawl: some in memory, the others in a file.

LEAST = 5  # pages that a pool has at the least, where there are very many sites
STALE = 4  # times as many pages as there are sites: one that was met before these is not in use
MEGABYTES = 8  # of pools in memory: those of a few dozen sites
WITHOUT_FILE = 8  # times as much, where there cannot be a file for the others
LARGEST_PACKED = 1_280_000  # bytes of a packed page: a pool of such pages takes 64 MB
_BYTES_OF_SITE, _BYTES_OF_PAGE = (
    1700,
    700,
)  # bytes that a site, and a page in its pool, take beside packed HTML


@runtime_checkable
class PoolStore(Protocol):
    """Where pools are kept from one crawl to the next."""

    def load(self, site: str) -> Iterable[PooledPage]:
        """The pages of a pool; none where there is none that can be used."""

    def save(self, site: str, pages: Iterable[PooledPage]) -> None:
        """Keep these pages."""


class KeptPools:
    """The pools of all sites, of *most* pages each.

    They take *megabytes* of memory. Those of sites that were not met lately are in a temporary
    file, and come back when they are; beyond *file_megabytes* the one that was not met for longest
    is let go (or kept by *store*). Where there cannot be a file, they take WITHOUT_FILE times as
    much memory. Where that is not enough, a site that was not met for long goes; where all are in
    use, pools become smaller, down to a few pages, before one goes. Pages of more than
    LARGEST_PACKED bytes are in no pool.
    """

    def __init__(
        self, *, most: int, megabytes: float, file_megabytes: float, store: PoolStore | None
    ) -> None:
        self.most = most
        self._bytes_at_most = megabytes * 1_000_000
        self._bytes = 0
        self._added = 0  # pages so far
        self._store = store
        self._sites: OrderedDict[str, SitePool] = OrderedDict()  # in memory, the last met last
        self._aside = PoolsAside(file_megabytes)
        self._has_file = True  # or can have one

    def __len__(self) -> int:
        """How many are in memory."""
        return len(self._sites)

    def add(self, site: str, page: PooledPage) -> SitePool:
        """Add a page of a site; what is known of the site by then."""
        known = self._met(site)
        self._added += 1
        known.met = self._added
        known.seen += 1
        if page.size <= LARGEST_PACKED or len(page.packed) <= LARGEST_PACKED:
            before = _size(known)
            known.changed |= known.pool.add(page)
            self._bytes += _size(known) - before
        return known

    def pages(self, site: str) -> tuple[PooledPage, ...]:
        """The pages of the pool of a site, which stays where it is."""
        known = self._known(site)
        return known.pool.pages if known else ()

    def make_room(self) -> Iterator[str]:
        """Keep to the bounds. Of sites whose pools are about to go, the names are given."""
        while self._bytes > self._bytes_at_most and len(self._sites) > 1:
            oldest, known = next(iter(self._sites.items()))
            if self._has_file and self._aside.put(oldest, known):
                self._bytes -= _size(self._sites.pop(oldest))
            elif self._has_file:
                self._has_file = False
                self._bytes_at_most *= WITHOUT_FILE
            elif self._added - known.met > STALE * len(self._sites) or not self._shrink():
                yield oldest
                self._let_go(oldest)
        while (site := self._aside.one_too_many()) is not None:
            if site in self._sites:  # what is in the file is older
                self._aside.drop(site)
            else:
                yield site
                self._let_go(site)

    def save(self) -> None:
        """Have the store keep all pools that are not as it knows them."""
        if self._store:
            for site, known in self._sites.items():
                self._save(site, known)
            for site in self._aside.changed():
                if found := self._known(site):
                    self._save(site, found)
                self._aside.settle(site)

    def _met(self, site: str) -> SitePool:
        """What is known of a site, in memory from now on."""
        known = self._sites.get(site)
        if known is None:
            known = self._aside.get(site, self.most)
            if known is None:
                pages = self._store.load(site) if self._store else ()
                known = SitePool(Pool(pages, most=self.most))
            self._sites[site] = known
            self._bytes += _size(known)
        self._sites.move_to_end(site)
        return known

    def _known(self, site: str) -> SitePool | None:
        return self._sites.get(site) or self._aside.get(site, self.most)

    def _shrink(self) -> bool:
        """Make all pools smaller by a quarter; whether they could be."""
        if self.most <= LEAST:
            return False
        self.most = max(LEAST, 3 * self.most // 4)
        self._bytes = 0
        for known in self._sites.values():
            known.pool.shrink(self.most)
            self._bytes += _size(known)
        return True

    def _let_go(self, site: str) -> None:
        if known := self._known(site):
            self._save(site, known)
        if site in self._sites:
            self._bytes -= _size(self._sites.pop(site))
        self._aside.drop(site)

    def _save(self, site: str, known: SitePool) -> None:
        if self._store and known.changed:
            self._store.save(site, known.pool.pages)
            known.changed = False


def _size(known: SitePool) -> int:
    """About how many bytes the pool of a site takes."""
    return _BYTES_OF_SITE + _BYTES_OF_PAGE * len(known.pool) + known.pool.size

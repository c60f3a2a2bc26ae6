"""Pools in a folder, a file for each site: kept from one crawl to the next."""

from __future__ import annotations

import logging
import os
import re
from contextlib import suppress
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.pools.folder_lock import SECONDS, locked
from tplspider.pools.pool import POOL, Pool
from tplspider.pools.pool_file import PoolFileError, read_pool, write_pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tplspider.pools.pool import PooledPage

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

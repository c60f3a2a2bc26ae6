"""What ``scrapy strip`` is to do, worked out and checked before anything is read."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tplspider.old.crawl.archive.files import (
    ENDINGS,
    archive_files,
    cdxj_files,
    check_extra,
    is_archive,
)
from tplspider.old.crawl.arguments import check_url, feed_format
from tplspider.old.crawl.config import Config, check_names
from tplspider.old.crawl.outputs.check import check_outputs, try_output
from tplspider.old.crawl.outputs.names import STANDARD_OUTPUT, final_path, local_path
from tplspider.old.crawl.outputs.plan import Output
from tplspider.old.crawl.outputs.trial import try_folder
from tplspider.pools.store import PoolFolder
from tplspider.stripping.addresses import assumed_scheme
from tplspider.stripping.row_file import FORMATS
from tplspider.stripping.rows import columns
from tplspider.stripping.strip_folder import StripOptions
from tplspider.template.markdown import MarkdownMissingError, check_markdown

if TYPE_CHECKING:
    import argparse

    from scrapy.settings import BaseSettings

    from tplspider.stripping.walk import Inode


_NAMES = ", ".join(ENDINGS)


@dataclass(frozen=True)
class StripPlan:
    """A folder, and where its rows go; *output* is None for standard output.

    With WARC *files* there is no folder; their index is beside them, or where *index* says.
    """

    folder: Path
    output: Path | None
    format: str
    base_url: str
    options: StripOptions
    pool: Path | None = None
    files: tuple[Path, ...] = ()
    index: Path | None = None
    cdxj: tuple[Path, ...] = ()

    @property
    def output_name(self) -> str:
        """For people."""
        return str(self.output) if self.output else "standard output"

    def inodes(self) -> set[Inode]:
        """What is in no row, should it be in the folder: the output, and the folder of pools."""
        found = [_inode(path) for path in (self.output, self.pool) if path]
        if self.output is None:
            try:
                stdout = os.fstat(sys.stdout.fileno())
            except (AttributeError, OSError, ValueError):  # closed, or not a file of the system
                return {each for each in found if each}
            found.append((stdout.st_dev, stdout.st_ino))
        return {each for each in found if each}


def plan_strip(args: list[str], opts: argparse.Namespace, settings: BaseSettings) -> StripPlan:
    """The plan for the arguments of a command; ValueError, in one line, if they will not do."""
    if unknown := [arg for arg in args if arg.startswith("-")]:
        guess = ": did you mean -O?" if unknown[0].startswith("-o") else ""
        hint = "" if guess else f" (a folder of that name is ./{unknown[0]})"
        raise ValueError(f"unknown option {unknown[0]!r}{guess}{hint}")
    of_archive = bool(args) and all(map(is_archive, args)) and not Path(args[0]).is_dir()
    if (len(args) != 1 and not of_archive) or not opts.rows:
        raise ValueError(f"give one folder, or WARC files ({_NAMES}), and -O FILE for the rows")
    check_names(settings)
    config = Config.of(settings)
    files = _files(args, opts) if of_archive else ()
    cdxj = cdxj_files(opts.cdxj)
    if (opts.index or cdxj) and not of_archive:
        raise ValueError("--index and --cdxj are for WARC files")
    folder = Path(args[0]).parent if files else _folder(args[0])
    output, ending = _output(opts.rows, settings)
    if opts.markdown:
        _check_markdown()
    options = StripOptions(
        columns=columns(markdown=opts.markdown, html=opts.html, offset=bool(files)),
        workers=worker_count(opts.workers, config, settings),
        seconds=config.extract_seconds,
        megabytes=config.extract_mb,
        store=_open_store(opts.pool) if opts.pool else None,
    )
    pool = Path(opts.pool) if opts.pool else None
    base_url = _base_url(opts.base_url or "")
    index = Path(opts.index) if opts.index else None
    return StripPlan(folder, output, ending, base_url, options, pool, files, index, cdxj)


def _files(args: list[str], opts: argparse.Namespace) -> tuple[Path, ...]:
    if opts.base_url:
        raise ValueError("--base-url is for a folder: records of WARC files have addresses")
    check_extra()
    return archive_files(args)


def _folder(name: str) -> Path:
    folder = Path(name)
    try:
        if not folder.is_dir():
            is_file = folder.exists()
            why = f"it is not a folder, and the name of a WARC file ends in {_NAMES}"
            why = why if is_file else "there is no such folder"
            raise ValueError(f"{name!r}: {why}")
        with os.scandir(folder):
            return folder
    except OSError as error:
        raise ValueError(f"{name!r}: cannot be read ({error.strerror or error})") from None


def _output(name: str, settings: BaseSettings) -> tuple[Path | None, str]:
    label = f"-O {name!r}"
    ending = feed_format(name)
    if ending not in FORMATS:
        raise ValueError(
            f"{label}: expected a file that ends in one of {FORMATS},"
            " or -:jl and the like for standard output"
        )
    is_printed = name.startswith("-:")
    path = None if is_printed else final_path(local_path(label, name))
    output = Output(label, STANDARD_OUTPUT if path is None else str(path), (path,) if path else ())
    check_outputs([output], None, log=settings.get("LOG_FILE") or "")
    return path, ending


def _base_url(given: str) -> str:
    if not given:
        return ""
    try:
        url = check_url(given)
    except ValueError as error:
        raise ValueError(f"--base-url: {error}") from None
    parts = urlsplit(url)
    if parts.query or parts.fragment:
        raise ValueError(f"--base-url {given!r}: expected the address of a folder, without ? and #")
    has_scheme = given[:8].lower().startswith(("http:", "https:"))
    return url if has_scheme else assumed_scheme(url)


def worker_count(given: str | None, config: Config, settings: BaseSettings) -> int:
    """How many processes to use: what is given, or set, or one for each core."""
    if given is not None:
        if not (given.isascii() and given.isdecimal() and len(given) < 5):
            raise ValueError(f"--workers {given!r}: expected a whole number, 0 or more")
        return int(given)
    if settings.get("TPLSPIDER_EXTRACT_WORKERS") is not None:
        return config.extract_workers
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _check_markdown() -> None:
    try:
        check_markdown()
    except MarkdownMissingError as error:
        raise ValueError(f"--markdown: {error}") from None


def _open_store(name: str) -> PoolFolder:
    """The pools of a folder, which is made if it is missing."""
    try_output(f"--pool {name!r}: cannot write to this folder", lambda: try_folder(Path(name)))
    return PoolFolder(name)


def _inode(path: Path) -> Inode | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino

"""Reports and their index as HTML. Whatever is put into a page is escaped by the template engine.

A page may load nothing and run nothing but the style and the script that are in it, which its
Content Security Policy names by their hashes.
"""

from __future__ import annotations

import json
import sqlite3
from base64 import b64encode
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple, get_type_hints

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from tplspider.report.clean_page import (
    FRAME_STYLE,
    clean_again,
    page_document,
)
from tplspider.report.drawing import MOST_ON_RINGS, NEAR, draw, near_pages, nearest
from tplspider.report.model import KEY, Report, check_fields, check_search_id
from tplspider.report.words import (
    answer_words,
    breakable,
    by_pool,
    harmless,
    reason_words,
    short,
    short_address,
    web_link,
)
from tplspider.search.answer import EMPTY_ANSWER

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tplspider.items import CandidateSearch


# A row of the index of many reports.

BY_POOL = "by a saved pool"
_MOST = 300  # characters of a hint


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What the index tells of a search. *page* is its file beside the index, '' for none."""

    search_id: str
    line: int | None
    url: str
    title: str
    answer: str  # complete, partial, by a saved pool, or why there is none
    size: str
    similarity: float | None
    loads: int
    hint: str
    page: str


def index_entry(summary: CandidateSearch) -> IndexEntry:
    """The row of a search."""
    return IndexEntry(
        search_id=summary.search_id,
        line=summary.line,
        url=short_address(summary.requested_url or summary.key_url, 300),
        title=short(summary.key_title),
        answer=_answer(summary),
        # A line that could not be searched asked for nothing.
        size=f"{summary.cs_size} of {summary.requested_size}"
        if summary.requested_size and not by_pool(summary)
        else "",
        similarity=summary.similarity,
        loads=summary.loads,
        hint=short(summary.hint, _MOST) if summary.hint != EMPTY_ANSWER else "",
        page=page_of(summary.search_id),
    )


def _answer(summary: CandidateSearch) -> str:
    if summary.key_outcome != "ok":
        return EMPTY_ANSWER if summary.hint == EMPTY_ANSWER else reason_words(summary.key_outcome)
    if by_pool(summary):
        return BY_POOL
    if not summary.cs_size:
        return "no other page was found"
    return "complete" if summary.complete else "partial"


def page_of(search_id: str) -> str:
    """The file of a search beside the index; a line that could not be searched has none."""
    return f"{search_id}.html" if search_id else ""


# The rows of an index, kept on disk beside it: however many there are, memory holds one.

_TABLE = """CREATE TABLE IF NOT EXISTS rows (search_id TEXT PRIMARY KEY, line INT NOT NULL,
    answer TEXT NOT NULL, entry TEXT NOT NULL) WITHOUT ROWID"""
_HINTS = get_type_hints(IndexEntry)
_LAST = 2**62  # in the place of a line, for a search that has none


class Counts(NamedTuple):
    """How many searches there are, and how they ended."""

    total: int
    complete: int
    partial: int
    others: tuple[tuple[str, int], ...] = ()  # why there is no answer, and how often
    by_pool: int = 0  # pages that were compared with saved ones, without a search


class IndexRows:
    """A row for each search, in a small SQLite file. A fault of it is an OSError.

    A process that is killed leaves it as it was after the last row. One thread may use it at a
    time, whichever that is.
    """

    def __init__(self, path: Path, *, mend: bool = False) -> None:
        self._path = path
        if path.is_symlink():  # SQLite would follow it
            raise OSError(f"{path}: it is a symbolic link")
        with self._told():
            try:
                self._connection = _open(path)
            except sqlite3.DatabaseError as error:
                code = getattr(error, "sqlite_errorcode", 0) & 0xFF
                if not mend or code not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                    raise
                path.unlink()
                self._connection = _open(path)

    def put(self, entry: IndexEntry) -> None:
        """Add a row, or replace that of the same search, or of a line that is the same in all."""
        line = _LAST if entry.line is None else entry.line
        text = json.dumps(asdict(entry))
        key = entry.search_id or sha256(text.encode()).hexdigest()
        with self._told():
            self._connection.execute(
                "INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?)", (key, line, entry.answer, text)
            )

    def has(self, search_id: str) -> bool:
        """Whether there is a row of that search."""
        with self._told():
            found = self._connection.execute(
                "SELECT 1 FROM rows WHERE search_id = ? LIMIT 1", (search_id,)
            )
            return found.fetchone() is not None

    def counts(self) -> Counts:
        """How many rows there are of each kind."""
        with self._told():
            found = self._connection.execute("SELECT answer, count(*) FROM rows GROUP BY answer")
            by_answer: dict[str, int] = dict(found)
        total = sum(by_answer.values())
        complete, partial = by_answer.pop("complete", 0), by_answer.pop("partial", 0)
        by_pool = by_answer.pop(BY_POOL, 0)
        others = sorted(by_answer.items(), key=lambda item: (-item[1], item[0]))
        return Counts(total, complete, partial, tuple(others), by_pool)

    def __iter__(self) -> Iterator[IndexEntry]:
        """All rows, by line."""
        with self._told():
            found = self._connection.execute("SELECT entry FROM rows ORDER BY line, search_id")
            for (text,) in found:
                if entry := _entry(text):
                    yield entry

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            busy = code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            why = "another crawl or report is writing to this folder" if busy else error
            raise OSError(f"{self._path}: {why}") from error


def _open(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=1, isolation_level=None, check_same_thread=False)
    try:
        # What a loss of power takes can be made anew.
        connection.execute("PRAGMA synchronous = OFF")
        # The lock is taken now, and kept: rows of two at once would be lost.
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        connection.execute(_TABLE)
        connection.execute("COMMIT")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _entry(text: str) -> IndexEntry | None:
    """A row as it was put down; None for one that was changed."""
    try:
        values = json.loads(text)
        check_fields(values, _HINTS, "a row")
        entry = IndexEntry(**{field.name: values[field.name] for field in fields(IndexEntry)})
        if entry.search_id:
            check_search_id(entry.search_id)
    except (ValueError, RecursionError):
        return None
    return entry if entry.page == page_of(entry.search_id) else None


_REASONS = 12  # why there is no answer, told above the index
_COMPARED = 50  # pages of a pool that are named
_MOST_TEXT = 200_000  # characters of the main text


def render_report(report: Report) -> str:
    """The report of one search."""
    listed = matrix_pages(report)
    near = _near(report)
    key_html = report.template.key_html if report.template else ""
    pieces = _pieces(
        "report.html",
        frames=True,
        report=report,
        summary=report.summary,
        template=report.template,
        words=answer_words(report.summary),
        compared=_compared(report),
        drawing=draw(report),
        near=near,
        farther=len(nearest(report)) - len(near),
        most_told=NEAR,
        matrix=listed,
        matrix_whole=len(listed) == len(report.links),
        frame=page_document(clean_again(key_html)) if key_html else "",
        most_text=_MOST_TEXT,
    )
    return "".join(pieces)


def render_index(entries: Iterable[IndexEntry], counts: Counts) -> Iterator[str]:
    """The index of many reports, piece by piece."""
    told = counts.others[:_REASONS]
    rest = sum(number for _, number in counts.others[_REASONS:])
    return _pieces("index.html", frames=False, entries=entries, counts=counts, told=told, rest=rest)


def matrix_pages(report: Report) -> list[int]:
    """The pages of the adjacency matrix: all, or of many the answer and who came near."""
    if len(report.pages) <= MOST_ON_RINGS:
        return list(report.links)
    near = [rank for rank in nearest(report) if len(report.missing(rank)) == 1]
    return [KEY, *sorted([*report.members, *near][:MOST_ON_RINGS])]


def _compared(report: Report) -> list[str]:
    """The pages of a saved pool that the key page was compared with."""
    template = report.template
    return template.candidates[:_COMPARED] if template and by_pool(report.summary) else []


def _near(report: Report) -> list[tuple[int, list[tuple[int, int]]]]:
    """The pages whose missing links are drawn, or else the one that lacks least."""
    return near_pages(report) or [(rank, report.missing(rank)) for rank in nearest(report)[:1]]


def _pieces(name: str, *, frames: bool, **values: object) -> Iterator[str]:
    style, script = _resource("style.css"), _resource("tables.js")
    styles = [style, FRAME_STYLE] if frames else [style]
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:;"
        f" script-src {_source(script)}; style-src {' '.join(map(_source, styles))}"
    )
    template = _environment().get_template(name)
    values |= {"kind": name.removesuffix(".html"), "policy": policy}
    return template.generate(style=Markup(style), script=Markup(script), **values)  # noqa: S704 - our own


def _source(text: str) -> str:
    """A style or script as a Content Security Policy names it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _resource(name: str) -> str:
    # Not by a path: the package may be in an egg.
    return (files("tplspider.report") / "pages" / name).read_text("utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FunctionLoader(_resource),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        harmless=harmless,
        breakable=breakable,
        short=short,
        address=short_address,
        weblink=web_link,
        why=reason_words,
    )
    return environment

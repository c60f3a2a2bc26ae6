"""Reports and their index as HTML. Whatever is put into a page is escaped by the template engine.

A page may load nothing and run nothing but the style and the script that are in it, which its
Content Security Policy names by their hashes.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from tplspider.report.clean_page import (
    FRAME_STYLE,
    clean_again,
    page_document,
)
from tplspider.report.drawing import NEAR, draw, near_pages, nearest, shown_pages
from tplspider.report.model import KEY, Report
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

    from tplspider.items import CandidateSearch


# A row of the index of many reports.

BY_POOL = "by a saved pool"
_MOST = 300  # characters of a hint


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """A row of the index."""

    search_id: str
    line: int | None
    url: str
    title: str
    answer: str  # complete, partial, by a saved pool, or why there is none
    size: str
    similarity: float | None
    loads: int
    hint: str

    @property
    def page(self) -> str:
        """The file of the search beside the index; a line that could not be searched has none."""
        return f"{self.search_id}.html" if self.search_id else ""


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
    )


def _answer(summary: CandidateSearch) -> str:
    if summary.key_outcome != "ok":
        return EMPTY_ANSWER if summary.hint == EMPTY_ANSWER else reason_words(summary.key_outcome)
    if by_pool(summary):
        return BY_POOL
    if not summary.cs_size:
        return "no other page was found"
    return "complete" if summary.complete else "partial"


class Counts(NamedTuple):
    """How many searches there are, and how they ended."""

    total: int
    complete: int
    partial: int
    others: tuple[tuple[str, int], ...] = ()  # why there is no answer, and how often
    by_pool: int = 0  # pages that were compared with saved ones, without a search


_REASONS = 12  # why there is no answer, listed above the index
_COMPARED = 50  # pages of a pool that are named
_MOST_TEXT = 200_000  # characters of the main text


def render_report(report: Report) -> str:
    """The report of one search."""
    shown = shown_pages(report)
    # The pages whose missing links are drawn, or else the one that lacks least.
    near = near_pages(report)
    near = near or [(rank, report.missing(rank)) for rank in nearest(report)[:1]]
    template = report.template
    key_html = template.key_html if template else ""
    compared = template.candidates if template and by_pool(report.summary) else []
    pieces = _pieces(
        "report.html",
        frames=True,
        report=report,
        summary=report.summary,
        template=template,
        words=answer_words(report.summary),
        compared=compared[:_COMPARED],
        drawing=draw(report),
        near=near,
        farther=len(nearest(report)) - len(near),
        most_told=NEAR,
        matrix=[KEY, *shown],
        is_whole=len(shown) == len(report.pages),
        frame=page_document(clean_again(key_html)) if key_html else "",
        most_text=_MOST_TEXT,
    )
    return "".join(pieces)


def render_index(entries: Iterable[IndexEntry], counts: Counts) -> Iterator[str]:
    """The index of many reports, piece by piece."""
    told = counts.others[:_REASONS]
    rest = sum(number for _, number in counts.others[_REASONS:])
    return _pieces("index.html", frames=False, entries=entries, counts=counts, told=told, rest=rest)


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

"""Reports as HTML. Whatever is put into a page is escaped by the template engine.

A page may load nothing and run nothing but the style and the script that are in it, which its
Content Security Policy names by their hashes.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from tplspider.report.answer_words import answer_words, by_pool
from tplspider.report.clean_page import (
    GREY_STYLE,
    WHOLE_STYLE,
    clean_again,
    grey_page,
    has_own_elements,
    whole_page,
)
from tplspider.report.drawing import MOST_ON_RINGS, NEAR, draw, near_pages, nearest
from tplspider.report.model import KEY
from tplspider.report.outcome_words import reason_words
from tplspider.report.shown_text import harmless, short, short_address, web_link

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tplspider.report.index_entry import IndexEntry
    from tplspider.report.index_rows import Counts
    from tplspider.report.model import Report

_REASONS = 12  # why there is no answer, told above the index
_COMPARED = 50  # pages of a pool that are named
_MOST_TEXT = 200_000  # characters of the main text


@dataclass(frozen=True, slots=True)
class _Frame:
    """A page in a frame of its own."""

    heading: str
    title: str
    document: str


def render_report(report: Report) -> str:
    """The report of one search."""
    listed = matrix_pages(report)
    near = _near(report)
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
        pages_in_frames=_frames(report),
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
    return template.members[:_COMPARED] if template and by_pool(report.summary) else []


def _near(report: Report) -> list[tuple[int, list[tuple[int, int]]]]:
    """The pages whose missing links are drawn, or else the one that lacks least."""
    return near_pages(report) or [(rank, report.missing(rank)) for rank in nearest(report)[:1]]


def _frames(report: Report) -> list[_Frame]:
    template = report.template
    if not template or not template.key_html:
        return []
    html = clean_again(template.key_html)
    frames = [_Frame("The page", "The key page", whole_page(html))]
    if template.evidence and has_own_elements(html):
        title = "The key page, its template greyed out"
        frames.append(_Frame("The page, its template greyed out", title, grey_page(html)))
    return frames


def _pieces(name: str, *, frames: bool, **values: object) -> Iterator[str]:
    style, script = _resource("style.css"), _resource("tables.js")
    styles = [style, WHOLE_STYLE, GREY_STYLE] if frames else [style]
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
        short=short,
        address=short_address,
        weblink=web_link,
        why=reason_words,
    )
    return environment

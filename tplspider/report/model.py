"""One search as a report has it: its summary and its text, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields, is_dataclass
from types import UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from tplspider.items import CandidateSearch, ExploredLink, PageTemplate
from tplspider.search.kinds import KINDS

if TYPE_CHECKING:
    Summary = CandidateSearch | Mapping[str, Any]
    Template = PageTemplate | Mapping[str, Any]

KEY = 0  # the key page, where others have their rank
_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True)
class Report:
    """A search, ready to be shown.

    *rows* are the explored links by rank. *links* has, for the key page (0) and each explored page,
    those of them that it links to.
    """

    summary: CandidateSearch
    template: PageTemplate | None = None
    rows: dict[int, ExploredLink] = field(default_factory=dict)
    links: dict[int, frozenset[int]] = field(default_factory=dict)
    members: tuple[int, ...] = ()  # by their ranks

    @property
    def pages(self) -> list[int]:
        """The ranks of the explored pages; the key page is not among them."""
        return [rank for rank in self.links if rank != KEY]

    def missing(self, rank: int) -> list[tuple[int, int]]:
        """The links that keep a page out of the answer, from one rank to another."""
        return [
            pair
            for member in self.members
            if member != rank
            for pair in ((rank, member), (member, rank))
            if pair[1] not in self.links[pair[0]]
        ]


def make_report(summary: Summary, template: Template | None = None) -> Report:
    """The report of a search. Raises ValueError for what is not a summary of this version."""
    found: CandidateSearch = _item(CandidateSearch, summary, "the summary")
    # Files are named by it. A line that could not be searched has none.
    if found.search_id and not _ID.fullmatch(found.search_id):
        raise ValueError(f"{found.search_id[:50]!r} is not the id of a search (16 hex digits)")
    made = None if template is None else check_template(template)
    if made and made.search_id and made.search_id != found.search_id:
        raise ValueError(f"the text belongs to another search: {made.search_id[:50]!r}")
    hints = get_type_hints(ExploredLink)
    for row in found.explored:
        _check_fields(row, hints, {*hints}, "an explored link")
    rows = {row["rank"]: row for row in sorted(found.explored, key=lambda row: row["rank"])}
    pages = [rank for rank, row in rows.items() if row["outcome"] == "page"]
    links: dict[int, frozenset[int]] = {KEY: frozenset(pages)} if pages else {}
    for rank in pages:
        links[rank] = frozenset(rows[rank]["links_to"]) - {rank}
        if not links[rank] <= {KEY, *pages}:
            raise ValueError(f"page {rank} of the summary links to pages that are not there")
    ranks = {rows[rank]["url"]: rank for rank in reversed(pages)}
    answer = [*ranks] if found.method == KINDS else found.candidates
    if not ranks.keys() >= {*answer}:
        raise ValueError("the candidates of the summary are not among its explored pages")
    members = tuple(sorted(ranks[url] for url in answer))
    return Report(found, made, rows, links, members)


def check_template(template: Template) -> PageTemplate:
    """The text of a page. Raises ValueError for what is not one of this version."""
    made: PageTemplate = _item(PageTemplate, template, "the text")
    return made


def _item(item_class: type[Any], value: Any, name: str) -> Any:
    """An item of ours, or of a mapping as feeds have it."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    hints = get_type_hints(item_class)
    required = {
        each.name
        for each in fields(item_class)
        if each.default is MISSING and each.default_factory is MISSING
    }
    _check_fields(value, hints, required, name)
    return item_class(**{field: value[field] for field in hints if field in value})


def _check_fields(value: Any, hints: dict[str, Any], required: set[str], name: str) -> None:
    """Raise ValueError if a field is missing, or of another type than its hint says."""
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} is not an object with fields")  # noqa: TRY004 - bad data
    if missing := [field for field in hints if field in required and field not in value]:
        raise ValueError(f"{name} lacks {', '.join(missing)}")
    for field_name, hint in hints.items():
        kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        plain = {get_origin(kind) or kind for kind in kinds}
        if float in plain:
            plain.add(int)
        if field_name in value and not isinstance(value[field_name], tuple(plain)):
            raise ValueError(f"{field_name} of {name} is not of the type {hint}")

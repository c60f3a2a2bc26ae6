"""One search as a report has it: what its summary and its template tell, checked."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints, is_typeddict

from tplspider.items import CandidateSearch, PageTemplate

if TYPE_CHECKING:
    from tplspider.items import ExploredLink


def check_type(value: Any, hint: Any, name: str) -> None:
    """Raise ValueError if *value* is not what *hint* says. *name* is what it is.

    >>> check_type([1, 2], list[int], "links_to")
    >>> check_type({"rank": "1"}, dict[str, int], "row")
    Traceback (most recent call last):
    ...
    ValueError: row['rank'] is not an int
    """
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return
    if origin is UnionType:
        _check_union(value, inner, name)
    elif is_typeddict(hint):
        check_fields(value, get_type_hints(hint), name)
    elif origin is list:
        _check_plain(value, list, name)
        for place, entry in enumerate(value):
            check_type(entry, inner[0], f"{name}[{place}]")
    elif origin is dict:
        _check_plain(value, dict, name)
        for key, entry in value.items():
            check_type(entry, inner[1], f"{name}[{key!r:.50}]")
    else:
        _check_plain(value, hint, name)


def check_fields(value: Any, hints: dict[str, Any], name: str) -> None:
    """The same for a mapping with a type for each of its fields; it may have others as well."""
    _check_plain(value, dict, name)
    if missing := [key for key in hints if key not in value]:
        raise ValueError(f"{name} lacks {', '.join(missing)}")
    for key, hint in hints.items():
        check_type(value[key], hint, f"{key} of {name}")


def _check_union(value: Any, hints: tuple[Any, ...], name: str) -> None:
    if value is None and NoneType in hints:
        return
    (hint,) = (hint for hint in hints if hint is not NoneType)
    check_type(value, hint, name)


def _check_plain(value: Any, kind: type, name: str) -> None:
    is_bool = isinstance(value, bool)
    if kind is float and isinstance(value, int) and not is_bool:
        return
    if not isinstance(value, kind) or (is_bool and kind is not bool):
        article = "an" if kind.__name__[0] in "aeiou" else "a"
        raise ValueError(f"{name} is not {article} {kind.__name__}")


KEY = 0  # the key page, where others have their rank
_ID = re.compile(r"[0-9a-f]{16}")
_LARGEST = 2**53  # no count of anything is larger
_COUNTS = "requested_size cs_size loads links wasted witness_loads shared not_archived".split()
_OPTIONAL = {
    # Of templates that were made for no report.
    **dict.fromkeys(("key_html", "main_markdown", "content_markdown"), ""),
    # Of feeds that are older than the field.
    "not_archived": 0,
    "method": "search",
}


@dataclass(frozen=True)
class Report:
    """A search, ready to be shown.

    *rows* are the explored links by rank; *links* tells, of the key page (0) and of each explored
    page, which of them it links to.
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


def make_report(
    summary: CandidateSearch | Mapping[str, Any],
    template: PageTemplate | Mapping[str, Any] | None = None,
) -> Report:
    """The report of a search. ValueError for what is not a summary of this version.

    The template of another search is refused, too.
    """
    found = _item(CandidateSearch, summary, "the summary")
    if found.search_id:  # a line that could not be searched has none
        check_search_id(found.search_id)
    made = None if template is None else check_template(template)
    if made and made.search_id and made.search_id != found.search_id:
        raise ValueError(f"the template of search {made.search_id[:50]!r} is not that of this one")
    _check_numbers(found)
    rows = {row["rank"]: row for row in sorted(found.explored, key=lambda row: row["rank"])}
    if len(rows) != len(found.explored) or min(rows, default=1) < 1:
        raise ValueError("the ranks of the summary are not those of links")
    pages = [rank for rank, row in rows.items() if row["outcome"] == "page"]
    links: dict[int, frozenset[int]] = {KEY: frozenset(pages)} if pages else {}
    known = {KEY, *pages}
    for rank in pages:
        links[rank] = frozenset(rows[rank]["links_to"]) - {rank}
        if not links[rank] <= known:
            raise ValueError(f"page {rank} of the summary links to pages that are not there")
    ranks = {rows[rank]["url"]: rank for rank in reversed(pages)}
    if not ranks.keys() >= {*found.candidates}:
        raise ValueError("the members of the summary are not among its explored pages")
    if found.cs_size != len({*found.candidates}) or len(found.candidates) != found.cs_size:
        raise ValueError("cs_size of the summary is not the number of its members")
    members = tuple(sorted(ranks[url] for url in found.candidates))
    return Report(found, made, rows, links, members)


def check_template(template: PageTemplate | Mapping[str, Any]) -> PageTemplate:
    """A template, if it is one of this version; ValueError otherwise."""
    made: PageTemplate = _item(PageTemplate, template, "the template")
    if not (0 <= made.template_share <= 1 and 0 <= made.evidence <= _LARGEST):
        raise ValueError("template_share or evidence of the template is out of range")
    return made


def _check_numbers(found: CandidateSearch) -> None:
    for name in _COUNTS:
        if not 0 <= getattr(found, name) <= _LARGEST:
            raise ValueError(f"{name} of the summary is not a count")
    if found.line is not None and not 0 <= found.line <= _LARGEST:
        raise ValueError("line of the summary is not the number of a line")
    shares = [found.similarity, *(row["similarity"] for row in found.explored)]
    if not all(share is None or 0 <= share <= 1 for share in shares):  # not a number is neither
        raise ValueError("a similarity of the summary is not between 0 and 1")
    if not all(abs(row["h_distance"]) <= _LARGEST for row in found.explored):
        raise ValueError("an h_distance of the summary is too large")


def check_search_id(search_id: str) -> None:
    """Raise ValueError for what cannot be the id of a search: files have their names by it."""
    if not _ID.fullmatch(search_id):
        raise ValueError(f"{search_id[:50]!r} is not the id of a search (16 hex digits)")


def _item(item_class: type[Any], value: Any, name: str) -> Any:
    """An item of ours, or a mapping as feeds hold it, as an item whose fields are what they say."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if not isinstance(value, Mapping):
        raise ValueError(f"{name} is not an object with fields")  # noqa: TRY004 - bad data
    value = dict(value)
    for optional, default in _OPTIONAL.items():
        value.setdefault(optional, default)
    hints = get_type_hints(item_class)
    names = [field.name for field in fields(item_class)]
    check_fields(value, {field: hints[field] for field in names}, name)
    return item_class(**{field: value[field] for field in names})

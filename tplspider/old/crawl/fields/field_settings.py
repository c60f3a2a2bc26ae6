"""The settings by which items of other spiders get the texts of their pages, with the defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from tplspider.items import PageTemplate
from tplspider.old.crawl.setting_values import fault, seconds, whole_number
from tplspider.old.extraction import MEGABYTES, SECONDS

if TYPE_CHECKING:
    from typing import Self

    from scrapy.settings import BaseSettings

NAME = "TPLSPIDER_FIELDS"
# They belong to a search, or to its report.
_OF_SEARCHES = {"key_url", "key_html", "method", "search_id", "requested_url"}
CHOICES = [each.name for each in fields(PageTemplate) if each.name not in _OF_SEARCHES]
_EXAMPLE = '{"text": "main_text"}'


@dataclass(frozen=True)
class FieldSettings:
    """*fields* is TPLSPIDER_FIELDS: what goes into each field of an item, none if it is off.

    Each of the others is the setting of that name, in capitals and after ``TPLSPIDER_``.
    """

    fields: Mapping[str, str]
    extract_mb: int = MEGABYTES
    extract_seconds: float = SECONDS
    extract_workers: int = 1
    held_items: int = 1000
    held_mb: int = 64
    held_seconds: float = 60
    pool_dir: str = ""
    pool_mb: int = 8

    @classmethod
    def of(cls, settings: BaseSettings) -> Self:
        """Read and check settings. ValueError, in one line, tells what is wrong."""
        return cls(
            fields=_fields(settings.get(NAME)),
            extract_mb=whole_number(settings, "TPLSPIDER_EXTRACT_MB", cls.extract_mb, at_least=1),
            extract_seconds=seconds(
                settings, "TPLSPIDER_EXTRACT_SECONDS", cls.extract_seconds, above_zero=True
            ),
            extract_workers=whole_number(
                settings, "TPLSPIDER_EXTRACT_WORKERS", cls.extract_workers, at_least=0
            ),
            held_items=whole_number(settings, "TPLSPIDER_HELD_ITEMS", cls.held_items, at_least=0),
            held_mb=whole_number(settings, "TPLSPIDER_HELD_MB", cls.held_mb, at_least=0),
            held_seconds=seconds(settings, "TPLSPIDER_HELD_SECONDS", cls.held_seconds),
            pool_dir=str(settings.get("TPLSPIDER_POOL_DIR") or cls.pool_dir),
            pool_mb=whole_number(settings, "TPLSPIDER_POOL_MB", cls.pool_mb, at_least=1),
        )


def _fields(given: Any) -> dict[str, str]:
    """The fields that items are to get, which may come as JSON."""
    found = given
    if isinstance(given, str):
        try:
            found = json.loads(given or "{}")
        except ValueError:
            found = None
    if given is None:
        return {}
    if not isinstance(found, Mapping):
        raise ValueError(fault(NAME, given, f"item fields and what goes in, {_EXAMPLE}"))  # noqa: TRY004 - of a setting
    for field, content in found.items():
        if not field or not isinstance(field, str):
            raise ValueError(f"{NAME}: {field!r:.60} is not the name of an item field")
        if content not in CHOICES:
            near = get_close_matches(str(content), CHOICES, n=1)
            meant = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(CHOICES)}"
            raise ValueError(f"{NAME}: {field} is to be {content!r:.60}: {meant}")
    if any(content.endswith("_markdown") for content in found.values()):
        # Here and not above: most crawls do without.
        from tplspider.template.markdown import check_markdown

        try:
            check_markdown()
        except ImportError as error:
            raise ValueError(f"{NAME}: {error}") from None
    return dict(found)

"""The settings of tplspider, with their defaults."""

from __future__ import annotations

from dataclasses import dataclass, fields
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import load_object

from tplspider.old.crawl.setting_values import boolean, one_of, seconds, whole_number
from tplspider.old.extraction import EXTRACTOR, MEGABYTES, SECONDS
from tplspider.profiles import apply_profile
from tplspider.search.cliques import MAX_SEARCH_NODES

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


# Above the command line (40), which knows nothing of what a search needs.
PRIORITY = 50

# What TPLSPIDER_FAIL may name: answers that are to be told by the exit status.
FAILURES = ("unusable", "incomplete")

_READ_ELSEWHERE = (
    "BROWSER_QUIET",
    "BROWSER_WAIT",
    "FIELDS",  # this and those below of the same kind: crawl/fields/field_settings.py
    "HELD_ITEMS",
    "HELD_MB",
    "HELD_SECONDS",
    "JOB_SETTINGS",
    "POOL_DIR",
    "POOL_MB",
    "PROFILE",
)


@dataclass(frozen=True)
class Config:
    """Each field is the setting of that name, in capitals and after ``TPLSPIDER_``."""

    allow_private: bool = True
    confine: bool = False
    contact: str = ""
    extract_mb: int = MEGABYTES
    extract_seconds: float = SECONDS
    extract_workers: int = 1
    extractor: str = EXTRACTOR
    fail: str = ""
    feeds_dir: str = ""
    in_flight: int = 1
    markdown: bool = False
    max_search_nodes: int = MAX_SEARCH_NODES
    retry_after_max: float = 30
    searches: int = 16
    shared_mb: int = 32
    sync: bool = False
    template: bool = False
    warc_secrets: bool = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Read and check the settings of a crawl."""
        return cls.of(crawler.settings)

    @classmethod
    def of(cls, settings: BaseSettings) -> Self:
        """Read and check settings, whether or not there is a crawl yet."""
        return cls(
            allow_private=boolean(settings, "TPLSPIDER_ALLOW_PRIVATE", default=cls.allow_private),
            confine=boolean(settings, "TPLSPIDER_CONFINE", default=cls.confine),
            contact=settings.get("TPLSPIDER_CONTACT") or cls.contact,
            extract_mb=whole_number(settings, "TPLSPIDER_EXTRACT_MB", cls.extract_mb, at_least=1),
            extract_seconds=seconds(
                settings, "TPLSPIDER_EXTRACT_SECONDS", cls.extract_seconds, above_zero=True
            ),
            extract_workers=whole_number(
                settings, "TPLSPIDER_EXTRACT_WORKERS", cls.extract_workers, at_least=0
            ),
            extractor=_extractor(settings.get("TPLSPIDER_EXTRACTOR")) or cls.extractor,
            fail=one_of(settings, "TPLSPIDER_FAIL", FAILURES),
            feeds_dir=settings.get("TPLSPIDER_FEEDS_DIR") or cls.feeds_dir,
            in_flight=whole_number(settings, "TPLSPIDER_IN_FLIGHT", cls.in_flight, at_least=1),
            markdown=_markdown(settings),
            max_search_nodes=whole_number(
                settings, "TPLSPIDER_MAX_SEARCH_NODES", cls.max_search_nodes, at_least=1
            ),
            retry_after_max=seconds(settings, "TPLSPIDER_RETRY_AFTER_MAX", cls.retry_after_max),
            searches=whole_number(settings, "TPLSPIDER_SEARCHES", cls.searches, at_least=1),
            shared_mb=whole_number(settings, "TPLSPIDER_SHARED_MB", cls.shared_mb, at_least=0),
            sync=boolean(settings, "TPLSPIDER_SYNC", default=cls.sync),
            template=boolean(settings, "TPLSPIDER_TEMPLATE", default=cls.template),
            warc_secrets=boolean(settings, "TPLSPIDER_WARC_SECRETS", default=cls.warc_secrets),
        )


def _markdown(settings: BaseSettings) -> bool:
    """Whether Markdown is wanted, once it is known that it can be made."""
    wanted = boolean(settings, "TPLSPIDER_MARKDOWN", default=Config.markdown)
    if wanted:
        # Here and not above, as below.
        from tplspider.template.markdown import (
            MarkdownMissingError,
            check_markdown,
        )

        try:
            check_markdown()
        except MarkdownMissingError as error:
            raise ValueError(f"TPLSPIDER_MARKDOWN: {error}") from error
    return wanted


def _extractor(given: Any) -> str:
    """The import path of the extractor, once it is known to lead to one."""
    if not given:
        return ""
    # Here and not above: what extracts templates is not imported for those who want none.
    from tplspider.old.extraction.extractors import extractor_name

    try:
        return extractor_name(given)
    except ValueError as error:
        raise ValueError(f"TPLSPIDER_EXTRACTOR: {error}") from error


def adapt_settings(settings: BaseSettings) -> None:
    """Put the chosen profile in force, and turn Scrapy's settings to what the search needs."""
    apply_profile(settings)
    # A project that does not name the add-on has it all the same, for this spider alone.
    addon = load_object("tplspider.addon.Addon")  # by name: it imports this module
    settings.setdefault_in_component_priority_dict("ADDONS", addon, 500)
    # A process updates the settings of a crawler that it is given with its own.
    settings.set("ADDONS", settings.getdict("ADDONS"), priority=PRIORITY)
    in_flight = Config.of(settings).in_flight
    for name in ("CONCURRENT_REQUESTS", "CONCURRENT_REQUESTS_PER_DOMAIN"):
        if settings.getint(name) < in_flight:
            settings.set(name, in_flight, priority=PRIORITY)


def check_names(settings: BaseSettings) -> None:
    """Raise ValueError, in one line, for a setting that looks like one of ours and is not."""
    known = [f"TPLSPIDER_{each.name.upper()}" for each in fields(Config)]
    known += [f"TPLSPIDER_{name}" for name in _READ_ELSEWHERE]
    for name in settings:
        if str(name).startswith("TPLSPIDER_") and name not in known:
            near = get_close_matches(name, known, n=1)
            meant = f": did you mean {near[0]}?" if near else ""
            raise ValueError(f"unknown setting {name}{meant}")

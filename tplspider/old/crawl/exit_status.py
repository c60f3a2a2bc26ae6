"""How our commands end: the exit statuses, which are the same for all, and refusals in one line.

| status | meaning |
|---|---|
| 0 | every key page was answered, complete or not, unusable too |
| 1 | lost: an output not written, an item refused, a key page without an answer, a line of a list
|   | that is out of form; or no text to print |
| 2 | wrong use: nothing was requested |
| 3 | with TPLSPIDER_FAIL: a key page that was unusable, or an answer that is not complete |
"""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING, NoReturn

from tplspider.old.crawl.tally import COMPLETE, PARTIAL, Tally, tally_of
from tplspider.old.crawl.tally import LOST as LOST_BEFORE
from tplspider.web.page import BAD_INPUT

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings


logger = logging.getLogger(__name__)

LOST, WRONG_USE, NOT_FOUND = 1, 2, 3


def exit_status(crawler: Crawler) -> int:
    """The exit status for a crawl that is over."""
    tally = tally_of(crawler)
    if not tally.answered and not tally.has_begun and not tally.is_finished:
        logger.error("Ended before the search had begun: nothing was requested or written")
        return LOST
    if not tally.is_finished and not tally.lost:
        logger.warning("Ended before every key page was answered")
    return status_of(tally, crawler.settings.get("TPLSPIDER_FAIL"))


def status_of(tally: Tally, fail: object) -> int:
    """The exit status for what is told in full; *fail* is TPLSPIDER_FAIL."""
    if tally.lost or not tally.is_finished or tally.has(BAD_INPUT) or tally.has(LOST_BEFORE):
        return LOST
    partial = tally.partial or tally.earlier[PARTIAL]
    unusable = tally.unusable or tally.earlier.keys() - {COMPLETE, PARTIAL}
    if (fail and unusable) or (fail == "incomplete" and partial):
        return NOT_FOUND
    return 0


def refuse(command: str, why: object, settings: BaseSettings) -> NoReturn:
    """End a command that cannot do what it was asked for, with one line that says why.

    Where the log goes to a file, as on a server, the line is there as well.
    """
    from tplspider.old.crawl.harmless_log import harmless  # not needed by most commands

    if settings.get("LOG_FILE"):
        logger.error(why)
    print(f"scrapy {command}: error: {harmless(str(why))}", file=sys.stderr)
    raise SystemExit(WRONG_USE)

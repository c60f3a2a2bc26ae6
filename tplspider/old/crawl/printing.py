"""What commands print: whatever the terminal can show, for as long as somebody reads it."""

from __future__ import annotations

import json
import os
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

from tplspider.old.crawl.harmless_log import CONTROLS

if TYPE_CHECKING:
    from collections.abc import Mapping


def print_text(text: str, command: str) -> bool:
    """Print what a terminal of any encoding can show, and tell whether that went well.

    The reader may stop before the end: that is not a failure.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        print(text, flush=True)
    except OSError as error:
        # Python would flush once more at its end, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            print(f"scrapy {command}: the text cannot be printed: {error}", file=sys.stderr)
            return False
    return True


def print_json(row: Mapping[str, object]) -> OSError | None:
    """Print a line of JSON; what keeps it from being printed, if there is something."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    clean = {
        name: CONTROLS.sub("", value) if isinstance(value, str) else value
        for name, value in row.items()
    }
    try:
        print(json.dumps(clean, ensure_ascii=not is_unicode), flush=True)
    except OSError as error:
        # As above.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return error
    return None


def print_error(text: str) -> None:
    """Print a line for a person beside the output."""
    print(text, file=sys.stderr, flush=True)

"""What commands print: whatever the terminal can show, for as long as somebody reads it."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper


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

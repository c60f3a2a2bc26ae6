"""What is said when a part of a corpus cannot be measured: one line each, the rest goes on."""

from __future__ import annotations

import sys

from benchmarks.evaluation.labelled_site import LabelError


def why(error: Exception) -> str:
    """What went wrong, in words where it is the fault of the corpus."""
    if isinstance(error, LabelError):
        return str(error)
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename} cannot be read ({error.strerror})"
    return repr(error)


def say(site: str, what: str, consequence: str) -> None:
    """Tell it in one line; names in tables may be anything."""
    print(f"{_short(site, 80)}: {_short(what, 300)}. {consequence}", file=sys.stderr)


def _short(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[:most]}..."

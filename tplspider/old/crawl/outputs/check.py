"""Outputs are compared, and tried, before anything is requested."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.old.crawl.outputs.confined import is_inside
from tplspider.old.crawl.outputs.names import STANDARD_OUTPUT
from tplspider.old.crawl.outputs.trial import try_file, try_folder, try_standard_output, whereabouts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tplspider.old.crawl.outputs.plan import Output

    Place = tuple[object, ...]


def check_outputs(
    outputs: list[Output],
    folder: tuple[str, Path] | None,
    *,
    printed: str = "",
    log: str = "",
    journal: Path | None = None,
    inputs: Mapping[Path, str] | None = None,
) -> None:
    """Raise ValueError, in one line, when outputs are one file or cannot be written.

    *folder* is that of save_html, with its label; *printed* is what else goes to standard output,
    and *log* and *journal* are files of the crawl. *inputs* are files to read, and what they are.
    """
    taken = {whereabouts(journal): "the journal (JOBDIR)"} if journal else {}
    taken |= {whereabouts(path): what for path, what in (inputs or {}).items()}
    _compare(outputs, printed, log, taken)
    if folder:
        compare_folder(*folder, outputs)
    for output in outputs:
        if output.is_standard_output:
            try_output(f"{output.label}: cannot write to standard output", try_standard_output)
        elif output.paths:
            trial = partial(try_file, output.paths[0], overwrite=output.overwrite)
            try_output(f"{output.label}: cannot write to this file", trial)
    if folder:
        label, pages = folder
        try_output(f"{label}: cannot write to this folder", partial(try_folder, pages))


def _compare(outputs: list[Output], printed: str, log: str, taken: dict[Place, str]) -> None:
    if log:
        taken[whereabouts(Path(log))] = "the log"
    if printed:
        taken[_standard_output()] = printed
    for output in outputs:
        for place in set(_places(output)):
            if place in taken:
                raise ValueError(
                    f"{output.label}: standard output is that of {taken[place]}: give it a file"
                    if output.is_standard_output
                    else f"{output.label} is the file of {taken[place]}: give it one of its own"
                )
            taken[place] = "another feed"
    files = {os.path.realpath(path) for output in outputs for path in output.paths}
    for output in outputs:
        for path in output.paths:
            if not files.isdisjoint(map(str, Path(os.path.realpath(path)).parents)):
                raise ValueError(f"{output.label}: its folder is the file of another feed")


def compare_folder(label: str, pages: Path, outputs: list[Output]) -> None:
    """Raise ValueError, in one line, when an output is that folder, or in it."""
    for output in outputs:
        for path in output.paths:
            if is_inside(pages, path):
                raise ValueError(f"{label}: {output.label} is a file of this name")
            if is_inside(path, pages):
                raise ValueError(f"{label}: {output.label} would be in this folder as well")


def _places(output: Output) -> Iterator[Place]:
    if output.is_standard_output:
        yield _standard_output()
    elif not output.paths:
        yield (output.uri,)
    nowhere = whereabouts(Path(os.devnull))
    yield from (place for path in output.paths if (place := whereabouts(path)) != nowhere)


def _standard_output() -> Place:
    """What standard output is: it may be a file that another output names."""
    try:
        found = os.fstat(sys.stdout.fileno())
    except (AttributeError, OSError, ValueError):  # closed, or not a file of the system
        return (STANDARD_OUTPUT,)
    return found.st_dev, found.st_ino


def try_output(fault: str, trial: Callable[[], None]) -> None:
    """Raise ValueError, in one line that starts with *fault*, when the *trial* fails."""
    try:
        trial()
    except (OSError, ValueError) as error:  # a name with a NUL is a ValueError
        why = getattr(error, "strerror", None) or error
        raise ValueError(f"{fault} ({why})") from None

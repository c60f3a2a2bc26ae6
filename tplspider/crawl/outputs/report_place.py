"""Where reports go: the file of one search, or a folder with a page for each search."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.crawl.arguments import FEED_FORMATS, feed_format
from tplspider.crawl.outputs.check import compare_folder, try_output
from tplspider.crawl.outputs.confined import is_inside
from tplspider.crawl.outputs.names import final_path
from tplspider.crawl.outputs.plan import Output
from tplspider.crawl.outputs.trial import try_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tplspider.crawl.outputs.plan import OutputNames


@dataclass(frozen=True)
class ReportPlace:
    """The file or folder of reports; *label* is what a person calls it."""

    label: str
    path: Path
    is_folder: bool

    @property
    def page(self) -> Path:
        """What a person opens."""
        return self.path / "index.html" if self.is_folder else self.path

    @property
    def outputs(self) -> list[Output]:
        """The file, as others are compared with it; none for a folder."""
        file = Output(self.label, str(self.path), (self.path,), overwrite=True)
        return [] if self.is_folder else [file]


def report_place(names: OutputNames, given: str, *, many: bool) -> ReportPlace | None:
    """The place that the argument names; None without one. ValueError is for the user."""
    if not given:
        return None
    label = f"report={given!r}"
    # Where links lead, because a report takes the place of what is there and does not write to it.
    path = Path(os.path.realpath(final_path(names.argument(label, given))))
    is_folder = not given.lower().endswith((".html", ".htm"))
    if many and not is_folder:
        raise ValueError(f"{label}: each search of many has a page of its own: give a folder")
    if given.startswith("-") or (is_folder and feed_format(given) in FEED_FORMATS):
        raise ValueError(f"{label}: expected a file that ends in .html, or a folder")
    return ReportPlace(label, path, is_folder)


def check_report(
    place: ReportPlace,
    outputs: list[Output],
    pages: tuple[str, Path] | None,
    others: Mapping[str, Path | None],
) -> None:
    """Raise ValueError, in one line, when reports cannot be written there.

    A file was compared with *outputs* already. *pages* is the folder of save_html, with its label;
    *others* are files of the crawl by what they are.
    """
    label, path = place.label, place.path
    if not place.is_folder:
        # It is written beside, and renamed: whatever is there now would be gone.
        if path.exists() and not path.is_file():
            raise ValueError(f"{label}: cannot write to this file (it is not a plain file)")
        trial = partial(try_folder, path.parent)
        try_output(f"{label}: cannot write to the folder of this file", trial)
        return
    compare_folder(label, path, outputs)
    if pages and (is_inside(pages[1], path) or is_inside(path, pages[1])):
        raise ValueError(f"{label} and {pages[0]}: give each a folder of its own")
    for name, file in others.items():
        if file and is_inside(file, path):
            raise ValueError(f"{label}: {name} would be in this folder as well")
    try_output(f"{label}: cannot write to this folder", partial(try_folder, path))
    _check_contents(label, path)


def _check_contents(label: str, folder: Path) -> None:
    """Refuse a folder of somebody else's, whose index.html would be overwritten."""
    if not folder.exists():
        return
    # Here and not above: the engine that writes reports is not imported for those who want none.
    from tplspider.report.files import is_of_report_folder  # noqa: PLC0415 - as said

    names = {path.name for path in folder.iterdir()}
    foreign = sorted(name for name in names if not is_of_report_folder(name, names))
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        raise ValueError(
            f"{label}: there are other files in this folder ({foreign[0]!r}{more}):"
            " give an empty one, or one that reports were written to before"
        )

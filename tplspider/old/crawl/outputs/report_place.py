"""Where reports go: the file of one search, or a folder with a page for each search."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.old.crawl.outputs.check import compare_folder, try_output
from tplspider.old.crawl.outputs.confined import is_inside
from tplspider.old.crawl.outputs.names import final_path
from tplspider.old.crawl.outputs.plan import Output
from tplspider.old.crawl.outputs.trial import try_folder
from tplspider.report.place import check_file, check_folder, names_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tplspider.old.crawl.outputs.plan import OutputNames


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
    with _labelled(label):
        is_folder = names_folder(given, path)
    if many and not is_folder:
        raise ValueError(f"{label}: each search of many has a page of its own: give a folder")
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
        with _labelled(label):
            check_file(path)
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
    with _labelled(label):
        check_folder(path)


@contextmanager
def _labelled(label: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None

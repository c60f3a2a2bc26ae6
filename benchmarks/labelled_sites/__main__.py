"""Builds a corpus of small labelled websites.

    python -m benchmarks.labelled_sites FOLDER [--only NAME,...]

FOLDER gets the document root of each site, HTML files only, and ``sites.tsv``. The key page of each
site carries labels as classes, in the format of the TECO suite (arXiv 1409.6182): TECO_notTemplate
on the topmost elements that are not template, TECO_mainContent on the theme's element around the
body of the page, and TECO_mainMenu on the smallest element with all entries of the main menu.
Scripts and styles do not count. Needs what is in themes.txt.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from benchmarks.labelled_sites.catalogue import SITES
from benchmarks.labelled_sites.generators import mkdocs, pelican, sphinx
from benchmarks.labelled_sites.labels import LabelError, label
from benchmarks.labelled_sites.marks import ANY, Variant
from benchmarks.labelled_sites.messy import address_of, decorate
from benchmarks.labelled_sites.nikola_site import nikola
from benchmarks.labelled_sites.plan import make_plan

if TYPE_CHECKING:
    from benchmarks.labelled_sites.plan import Spec

COLUMNS = ("site", "generator", "theme", "key_path", "html_pages", "lang", "messy")
BUILDERS = {"mkdocs": mkdocs, "sphinx": sphinx, "pelican": pelican, "nikola": nikola}


def build_site(spec: Spec, folder: Path) -> dict[str, str]:
    """Build a site three times, and label its key page; its line of the table."""
    clean_plan = make_plan(spec)
    builds = {}
    with TemporaryDirectory() as work:
        for variant in Variant:
            plan = clean_plan.as_variant(variant)
            root, key = BUILDERS[spec.generator](plan, Path(work) / variant.value)
            decorate(plan, root)
            builds[variant] = (root, (root / key).read_text("utf-8"))
        root = builds[Variant.CLEAN][0]
        labelled = label(*(builds[variant][1] for variant in Variant))
        (root / key).write_text(labelled, "utf-8")
        files = sorted(root.rglob("*.html"))
        for file in files:
            if ANY.search(file.read_text("utf-8")):
                raise LabelError(f"a mark is left in {file.name}")
            target = folder / spec.name / file.relative_to(root)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
        key_path = address_of(root, root / key)
    messy = ",".join(spec.messy) or "no"
    values = (spec.name, spec.generator, spec.theme, key_path, str(len(files)), "en", messy)
    return dict(zip(COLUMNS, values, strict=True))


def read_table(file: Path) -> list[dict[str, str]]:
    """The lines of a table of sites, if there is one."""
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


def main() -> int:
    """Build as the command line says; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--only", help="names of sites, with commas between them")
    options = parser.parse_args()
    names = options.only.split(",") if options.only else [spec.name for spec in SITES]
    known = {spec.name: spec for spec in SITES}
    if unknown := [name for name in names if name not in known]:
        parser.error(f"no such site: {', '.join(unknown)}")

    options.folder.mkdir(parents=True, exist_ok=True)
    table = options.folder / "sites.tsv"
    rows, failures = {row["site"]: row for row in read_table(table)}, []
    for name in names:
        start = time.perf_counter()
        shutil.rmtree(options.folder / name, ignore_errors=True)
        rows.pop(name, None)
        try:
            rows[name] = build_site(known[name], options.folder)
            print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr)
        except (LabelError, RuntimeError, OSError) as error:
            failures.append(f"FAILED {name}: {error}")
            print(failures[-1], file=sys.stderr)
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[name] for name in known if name in rows)
    print(f"{len(rows)} sites in {options.folder}, {len(failures)} failures")
    return int(bool(failures))


if __name__ == "__main__":
    raise SystemExit(main())

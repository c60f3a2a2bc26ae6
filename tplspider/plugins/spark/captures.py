"""WARC files for the jobs: a manifest of them, and one index, for which all workers read files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tplspider.plugins.spark.jobs import tell
from tplspider.sources.archive import merge_indexes, open_archive

if TYPE_CHECKING:
    from argparse import Namespace

    from pyspark.sql import SparkSession

    from tplspider.plugins.spark.jobs import Output
    from tplspider.sources.archive import Archive


def read_manifest(given: Namespace) -> list[str]:
    """The names in a manifest; ValueError if there are none."""
    try:
        lines = Path(given.manifest).read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise ValueError(f"{given.manifest}: {getattr(error, 'strerror', None) or error}") from None
    names = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not names:
        raise ValueError(f"{given.manifest}: no files in this manifest")
    if any("://" in name for name in [*names, given.index or given.output]):
        raise ValueError("archives, index and output must be paths that all workers have")
    return list(dict.fromkeys(str(Path(name).absolute()) for name in names))


def open_captures(
    spark: SparkSession, output: Output, given: Namespace, files: list[str]
) -> Archive:
    """Index the files, and write what is wrong with them to the table ``files``."""
    index = Path(given.index or f"{output.work}/index").absolute()
    lost: dict[str, str] = {}
    try:
        if not index.exists():
            lost = _index(spark, files, index)
        readable = [path for path in files if path not in lost]
        archive = open_archive(readable, index, lost=lambda e: lost.update({e.filename: _why(e)}))
    except ValueError as error:
        raise ValueError(str(error) if readable else "none of the files can be read") from None
    rows = [(str(path), 0, json.dumps({why: 1})) for path, why in lost.items()]
    rows += [(str(p), f.records, json.dumps(f.faults)) for p, f in archive.files.items()]
    table = spark.createDataFrame(sorted(rows), "path STRING, records BIGINT, faults STRING")
    table.coalesce(1).write.parquet(f"{given.output}/files")
    empty = sum(not records for _, records, _ in rows)
    if empty == len(rows):
        raise ValueError("no pages in any of the files")
    tell(f"{len(rows)} WARC files, {empty} of them without any page: see the table files")
    return archive


def _index(spark: SparkSession, files: list[str], index: Path) -> dict[str, str]:
    """Have each file indexed by a task, and make one index of that; what cannot be read."""
    index.parent.mkdir(parents=True, exist_ok=True)
    parts = [index.with_name(f"{index.name}-{number}") for number in range(len(files))]
    pairs = [*zip(files, map(str, parts), strict=True)]
    given = spark.sparkContext.parallelize(pairs, len(files))
    lost = dict(filter(None, given.map(_index_part).collect()))
    try:
        merge_indexes([p for p, file in zip(parts, files, strict=True) if file not in lost], index)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    return lost


def _index_part(given: tuple[str, str]) -> tuple[str, str] | None:
    path, part = given
    try:
        open_archive([path], part)
    except OSError as error:
        return path, _why(error)
    return None


def _why(error: OSError) -> str:
    return error.strerror or str(error)

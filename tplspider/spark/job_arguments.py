"""The arguments of the jobs: those that users of cc-pyspark know, and ours."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

FORMATS = ("parquet", "json")
_LEVELS = ("ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"tplspider: {message} (--help tells more)\n")


def job_parser(name: str, what: str) -> argparse.ArgumentParser:
    """A parser with all that the jobs have in common."""
    parser = _Parser(prog=name, description=what)
    add = parser.add_argument
    add("input", help="a manifest: WARC files, one a line; or a columnar index")
    add("output", help="the folder that is made for the output")
    add("--columnar_index", action="store_true", help="the input is a columnar index (Parquet)")
    add("--input_base_url", default="", help="where relative names of WARC files start")
    add("--num_input_partitions", type=_number, default=400, help="tasks that read WARC files")
    add("--num_output_partitions", type=_number, default=10, help="files of each output table")
    add("--output_format", choices=FORMATS, default="parquet")
    add("--output_compression", default="gzip", help="codec of the output, or none")
    add("--output_option", action="append", default=[], metavar="NAME=VALUE", type=_pair)
    add("--local_temp_dir", help="for copies of WARC files that are not on this machine")
    add("--log_level", choices=_LEVELS, help="of Spark itself (default: few warnings)")
    add("--num_work_partitions", type=_number, default=0, help="tasks that search or strip")
    add("--markdown", action="store_true", help="Markdown as well (needs the extra of that name)")
    return parser


def _number(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number")
    return int(text)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r}: expected NAME=VALUE")
    return name, value

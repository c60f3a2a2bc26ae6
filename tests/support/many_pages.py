"""Extracts a template when many pages of 1 MB were explored, in a process of its own.

``python -m tests.support.many_pages COUNT KIND`` prints seconds of CPU and the most memory in MB.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from random import Random
from time import process_time

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.extraction import manual
from tplspider import Page, Site, parse_html
from tplspider.search.witness import MOST, by_likeness
from tplspider.template.extract import PageSource, extract_template
from tplspider.web.page import read_page

SITE = "http://example.org/docs/"


def page(number: int, kind: str) -> PageSource:
    """A chapter; of the kind "copies", all but a few are the key page with another comment."""
    copy = kind == "copies" and 0 < number < 16
    html = manual(Random(0 if copy else number), 1_000_000)
    return PageSource(f"{SITE}page{number}.html", f"{html}<!-- {number} -->")


def main() -> None:
    """Choose among the pages and extract, as a search does at its end."""
    sources = [page(number, sys.argv[2]) for number in range(int(sys.argv[1]) + 1)]
    by_url = {source.url: source for source in sources}
    read: list[Page] = [
        read_page(parse_html(source.html), source.url, Site(SITE)) for source in sources
    ]
    Path("/proc/self/clear_refs").write_text("5", "ascii")  # the peak is that from here on
    start = process_time()
    near = [by_url[found.url] for found in by_likeness(read[0], read[1:])]
    found = extract_template(sources[0], near, most=MOST)
    taken = process_time() - start
    (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    print(json.dumps({"seconds": taken, "peak": int(peak) / 1000, "evidence": found.evidence}))


if __name__ == "__main__":
    main()

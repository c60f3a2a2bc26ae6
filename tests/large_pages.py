"""Extracts a template from pages of 100,000 elements, in a process of its own and limited memory.

``python tests/large_pages.py SHAPE`` prints what it took.
"""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.extraction import flat, pages, records, sections, shuffled, table
from tplspider.template.extract import extract_template

if TYPE_CHECKING:
    from random import Random

ELEMENTS = 100_000
MEMORY = 1_000_000_000  # bytes, more than the interpreter and its modules take


def nested(random: Random, count: int) -> str:
    """Elements inside elements, at random."""
    parts = ["<body>"]
    depth = 0
    for _ in range(count):
        words = f"text {random.randrange(1000)}" if random.random() < 0.5 else ""
        parts.append(f"<div class=c{random.randrange(5)}>{words}")
        depth += 1
        while depth and random.random() < 0.5:
            parts.append("</div>")
            depth -= 1
    return "".join(parts)


def chain(random: Random, count: int) -> str:
    """One element inside the other; the parser keeps some two thousand."""
    return f"<body>{'<div>' * count}{random.random()}"


def deep(random: Random, count: int) -> str:
    """Many elements, nearly as deep as the parser goes."""
    leaves = "".join(f"<p>{random.random()}</p>" for _ in range(count - 2000))
    return f"<body>{'<div>' * 2000}{leaves}"


def lines(random: Random, count: int) -> str:
    """Text in one element, with breaks."""
    text = "<br>".join(f"line {random.random()}" for _ in range(count))
    return f"<body><b>A menu</b><div>{text}</div></body>"


def reversed_list(random: Random, count: int) -> str:
    """The same entries in one order or the other."""
    entries = [f"<li>{i}</li>" for i in range(count)]
    return f"<body><ul>{''.join(entries[:: 1 if random.random() < 0.5 else -1])}</ul></body>"


def odd_links(random: Random, count: int) -> str:
    """Links whose addresses are not canonical as they stand."""
    start = random.randrange(1000)
    links = "".join(
        f"<li><a href='/a%C3%BC/{start + i}?b=%20{i}&a=x y#{i}'>{i}</a>" for i in range(count // 2)
    )
    return f"<body><ul>{links}</ul></body>"


SHAPES = {
    shape.__name__: shape
    for shape in (
        flat, table, shuffled, records, sections, nested, chain, deep, lines, reversed_list,
        odd_links,
    )
}  # fmt: skip


def main() -> None:
    """Print the seconds of CPU, the most memory used in MB, and how many paths there are."""
    key, *others = pages(SHAPES[sys.argv[1]], ELEMENTS)
    status = Path("/proc/self/statm")
    used = int(status.read_text().split()[0]) * resource.getpagesize() if status.exists() else 0
    if used:
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    start = process_time()
    template = extract_template(key, others)
    taken = process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1000
    print(
        json.dumps(
            {"seconds": taken, "peak": peak, "paths": len(template.not_template) if template else 0}
        )
    )


if __name__ == "__main__":
    main()

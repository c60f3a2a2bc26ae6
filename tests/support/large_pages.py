"""Extracts a template from pages of 100,000 elements, in a process of its own and limited memory.

``python -m tests.support.large_pages SHAPE`` prints what it took.
"""

import resource
import sys
from pathlib import Path
from random import Random
from time import process_time

from benchmarks.extraction import pages, shuffled, table
from tplspider.template.extract import extract_template

ELEMENTS = 100_000
MEMORY = 1_000_000_000  # bytes, more than the interpreter and its modules take


def chain(random: Random, count: int) -> str:
    """One element inside the other; the parser keeps some two thousand."""
    return f"<body>{'<div>' * count}{random.random()}"


def deep(random: Random, count: int) -> str:
    """Many elements, nearly as deep as the parser goes."""
    leaves = "".join(f"<p>{random.random()}</p>" for _ in range(count - 2000))
    return f"<body>{'<div>' * 2000}{leaves}"


def lines(random: Random, count: int) -> str:
    text = "<br>".join(f"line {random.random()}" for _ in range(count))
    return f"<body><b>A menu</b><div>{text}</div></body>"


def odd_links(random: Random, count: int) -> str:
    """Links whose addresses are not canonical as they stand."""
    start = random.randrange(1000)
    links = "".join(
        f"<li><a href='/a%C3%BC/{start + i}?b=%20{i}&a=x y#{i}'>{i}</a>" for i in range(count // 2)
    )
    return f"<body><ul>{links}</ul></body>"


SHAPES = {shape.__name__: shape for shape in (table, shuffled, chain, deep, lines, odd_links)}


def main() -> None:
    key, *others = pages(SHAPES[sys.argv[1]], ELEMENTS)
    status = Path("/proc/self/statm")
    if status.exists():
        used = int(status.read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    start = process_time()
    extract_template(key, others)
    print(process_time() - start)


if __name__ == "__main__":
    main()

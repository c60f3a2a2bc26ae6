"""The step that looks for a larger complete subdigraph, over 1,000 explored pages."""

from __future__ import annotations

from random import Random
from time import process_time
from typing import TYPE_CHECKING

import networkx as nx

from benchmarks.timing import report
from tplspider.search.cliques import CompleteSubdigraphs, members

if TYPE_CHECKING:
    from collections.abc import Callable

PAGES = 1_000


def mutual_links(linked: Callable[[int, int], bool]) -> list[int]:
    """Of each page, the earlier pages it is mutually linked with, as bits."""
    return [sum(1 << b for b in range(a) if linked(a, b)) for a in range(PAGES)]


def at_random(probability: float, seed: int) -> list[int]:
    """Each pair mutually linked with the same probability."""
    random = Random(seed)
    return mutual_links(lambda _a, _b: random.random() < probability)


def in_groups(groups: int, missing: float, seed: int = 1) -> list[int]:
    """Pages in groups: linked across groups (some links missing) and never inside one."""
    random = Random(seed)
    group = [random.randrange(groups) for _ in range(PAGES)]
    return mutual_links(lambda a, b: group[a] != group[b] and random.random() >= missing)


def steps(earlier: list[int], size: int) -> tuple[list[float], CompleteSubdigraphs]:
    """Milliseconds of each step, the collector of cyclic garbage having its usual turns."""
    subdigraphs = CompleteSubdigraphs(size)
    times = []
    for page, mutual in enumerate(earlier):
        start = process_time()
        subdigraphs.update(page, mutual)
        times.append(1000 * (process_time() - start))
        if subdigraphs.complete:
            break
    return times, subdigraphs


def networkx_steps(earlier: list[int], every: int) -> tuple[float, float]:
    """Milliseconds of some steps: networkx's cliques that hold the new page, and ours."""
    subdigraphs = CompleteSubdigraphs(8)
    graph: nx.Graph[int] = nx.Graph()
    theirs = ours = 0.0
    for page, mutual in enumerate(earlier):
        graph.add_node(page)
        graph.add_edges_from((page, other) for other in members(mutual))
        start = process_time()
        subdigraphs.update(page, mutual)
        if page % every == 0:
            ours += process_time() - start
            start = process_time()
            max(map(len, nx.find_cliques(graph, nodes=[page])))
            theirs += process_time() - start
    return 1000 * theirs, 1000 * ours


def without_an_8_cs() -> list[int]:
    """The first seed whose random graph has no 8-CS."""
    for seed in range(100):
        earlier = at_random(0.2, seed)
        if not steps(earlier, 8)[1].complete:
            return earlier
    raise AssertionError("every seed has an 8-CS")


def run() -> bool:
    """Print the times and the ratio; whether all hold."""
    holds = True
    sparse = without_an_8_cs()
    print("The clique step over 1,000 explored pages, n = 8, no 8-CS")
    for name, earlier in (("random, probability 0.2", sparse), ("7 groups", in_groups(7, 0))):
        times, _ = steps(earlier, 8)
        holds &= report(f"{name}: mean", sum(times) / len(times), 3, "ms")
        holds &= report(f"{name}: longest", max(times), 30, "ms")
    theirs, ours = networkx_steps(sparse, every=20)
    holds &= report("random: networkx.find_cliques / ours", theirs / ours, 10, at_least=True)
    print("The same where it is hard: steps give up by counting search nodes")
    hard = (
        ("7 groups, 5 % of the links missing, n = 8", in_groups(7, 0.05), 8),
        ("random, probability 0.9, n = 60", at_random(0.9, 1), 60),
    )
    for name, earlier, size in hard:
        times, subdigraphs = steps(earlier, size)
        holds &= report(f"{name}: longest", max(times), 100, "ms")
        print(f"    best CS {len(subdigraphs.best)}, bounded {subdigraphs.bounded}")
    return holds


if __name__ == "__main__":
    raise SystemExit(not run())

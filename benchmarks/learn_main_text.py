"""Learn the weights of the lines of main texts, and judge them on hosts that they do not know.

    python -m benchmarks.learn_main_text FOLDER [--silver DIR] [--labelled DIR] [--write]

FOLDER has NAME.jsonl.xz, a row for each page: id, host, url, html, and either gold (the main text
by hand) or labels (attribute -> values, of detail pages). docs/evaluation.md says where public sets
are. Sites in the formats of ``table1`` teach what other kinds of pages have.

Of each line the words that are in the gold tell whether it is main text. The weights are logistic
regressions, the second on scores of the first on hosts that it has not seen. For each of ten groups
of hosts both are learnt from the others; printed is what comes of that, with intervals by
bootstrap over hosts. Sets that only judge (--judge) are scored by the weights that are written.
"""

from __future__ import annotations

import argparse
import json
import logging
import lzma
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from hashlib import md5
from multiprocessing import Pool
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

import tplspider.template
from benchmarks.evaluation.choices import Request, by_search
from benchmarks.evaluation.labels import number_elements
from benchmarks.evaluation.scores import words
from benchmarks.evaluation.silver import SitePage, label_lines, lines_of, pages_beside
from benchmarks.evaluation.sites import labelled_sites, load_page, unlabelled_sites
from tplspider import PageSource
from tplspider.template.extract import Companions, Comparison, not_compared
from tplspider.template.flat_page import Vocabulary, flatten
from tplspider.template.line_scores import UNIT, WEIGHTS, ScoredLines, first_stage, second_stage
from tplspider.template.lines import FoundLines, line_names, page_lines, text_lines
from tplspider.template.main_part import kept_lines, lines_to_judge
from tplspider.web.html import parse_html
from tplspider.web.page import WebPage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tplspider.template.line_scores import Feature, Features
    from tplspider.template.lines import Line

SIBLINGS = (0, 1, 3)
KEYS = 6  # pages of a site of detail pages
FOLDS = 10
RARE = 8  # pages: a feature of fewer is left out
PENALTY = 0.5, 0.5  # on the squares of the weights of each stage
# How much a page of a set counts, alone and compared with others. Without evidence nobody can tell
# what else on a page is its own.
COUNTS = {
    "fundus": (2.0, 2.5),
    "aed": (2.0, 2.5),
    "swde": (0.08, 1.2),
    "silver": (0.15, 3.0),
    "labelled": (2.0, 8.0),
}
UNCLEAR: frozenset[Feature] = frozenset({("to the page",), ("in", ".menu"), ("in", "nav")})
# And how much the lines of each kind, where the site tells what is which.
KINDS = {"value": 0.8, "own": 0.5, "boilerplate": 0.3}
DETAILS = frozenset({"swde", "silver"})  # judged by what is found, lost and left

Labels = list[tuple[float, float]]  # of each line: 1 if it is main text, and how much it counts


@dataclass(slots=True)
class Example:
    """A page compared with so many others, its lines, and what is known of them."""

    set: str
    host: str
    siblings: int
    first: ScoredLines
    others: list[tuple[ScoredLines, FoundLines]]
    marks: list[Features]
    labels: Labels
    judge: Callable[[str], tuple[float, ...]]
    scores: list[int] = field(default_factory=list)


# What is known of the lines of a page.


def by_gold(gold: str, lines: list[Line]) -> Labels:
    """Lines of which most words are in the gold; short ones must have neighbours that are."""
    wanted = words(gold)
    whole = f" {' '.join(wanted)} "
    rows = {tuple(wanted[n : n + 3]) for n in range(len(wanted) - 2)}
    texts = [words(line.text) for line in lines]
    shares: list[float | None] = []
    for text in texts:
        if len(text) >= 6:
            found = [tuple(text[n : n + 3]) in rows for n in range(len(text) - 2)]
            shares.append(sum(found) / len(found))
        elif len(text) >= 3:
            shares.append(float(f" {' '.join(text)} " in whole))
        else:
            shares.append(None)
    labels = []
    for n, (text, share) in enumerate(zip(texts, shares, strict=True)):
        if share is None:
            near = [each for each in shares[max(n - 2, 0) : n + 3] if each is not None]
            is_there = text and f" {' '.join(text)} " in whole
            share = float(bool(is_there and max(near, default=0) > 0.5))  # noqa: PLW2901
        labels.append((float(share > 0.5), len(text) + 2.0))
    total = sum(weight for _, weight in labels) or 1
    return [(label, weight / total) for label, weight in labels]


def by_known(known: dict[str, tuple[str, float]], lines: list[Line]) -> Labels:
    """Lines by what is known of their words: each kind of line counts as much as it should."""
    found = [known.get(" ".join(words(line.text)), ("", 0.0)) for line in lines]
    totals: Counter[str] = Counter()
    for kind, weight in found:
        totals[kind] += weight  # type: ignore[assignment]
    return [
        (float(kind in {"own", "value"}), KINDS[kind] * weight / totals[kind] if weight else 0.0)
        for kind, weight in found
    ]


def f1(gold: str, text: str) -> tuple[float, ...]:
    """Recall, precision and F1 by words."""
    have, want = Counter(words(text)), Counter(words(gold))
    both = (have & want).total()
    recall, precision = both / max(want.total(), 1), both / max(have.total(), 1)
    return recall, precision, 2 * recall * precision / (recall + precision) if both else 0.0


def found_lost_left(known: dict[str, tuple[str, float]], text: str) -> tuple[float, ...]:
    """The shares of values found, of own text lost and of boilerplate left."""
    have = f" {' '.join(words(text))} "
    totals: Counter[str] = Counter()
    kept: Counter[str] = Counter()
    for row, (kind, weight) in known.items():
        totals[kind] += weight  # type: ignore[assignment]
        kept[kind] += weight * (f" {row} " in have)  # type: ignore[assignment]
    share = {kind: kept[kind] / total for kind, total in totals.items() if total}
    return share.get("value", 1.0), 1 - share.get("own", 1.0), share.get("boilerplate", 0.0)


# The pages of a site.

Labelled = tuple["Callable[[list[Line]], Labels]", "Callable[[str], tuple[float, ...]]"]


def examples(
    name: str, host: str, pages: Sequence[tuple[PageSource, list[PageSource], Labelled]]
) -> list[Example]:
    """The examples of a site: of each page, the pages to compare it with."""
    ready: dict[bytes, tuple[ScoredLines, FoundLines]] = {}

    def other(page: PageSource) -> tuple[ScoredLines, FoundLines]:
        if page.digest not in ready:
            flat = flatten(parse_html(page.html), page.url, Vocabulary())
            ready[page.digest] = first_stage(flat, page_lines(flat)), line_names(flat)
        return ready[page.digest]

    found = []
    for key, siblings, (label, judge) in pages:
        for count in SIBLINGS:
            if count > len(siblings) and (count == 1 or len(siblings) < 2):
                continue
            chosen = siblings[:count]
            compared = Companions(most=0).compare(key, chosen) if chosen else None
            if compared is None:
                if chosen:
                    continue
                compared = not_compared(flatten(parse_html(key.html), key.url, Vocabulary()))
            used = [page for page in chosen if page.url in compared.pages]
            others = [other(page) for page in used]
            found.append(_example(name, host, compared, others, label, judge))
    return found


def _example(  # noqa: PLR0917
    name: str,
    host: str,
    compared: Comparison,
    others: list[tuple[ScoredLines, FoundLines]],
    label: Callable[[list[Line]], Labels],
    judge: Callable[[str], tuple[float, ...]],
) -> Example:
    own = [n for n, known in enumerate(compared.template) if not known]
    lines, marks, _ = lines_to_judge(compared, own)
    first = first_stage(compared.key, lines)
    labels = label(lines)
    for n, features in enumerate(first.features):
        if ("comment beside", 2) in features:  # comments beside a text are not what it says
            labels[n] = 0.0, 4 * labels[n][1]
        elif ("h1", "is") in features and name in {"fundus", "aed"}:
            labels[n] = labels[n][0], 0.0  # their gold is without headings
        elif name in DETAILS and not UNCLEAR.isdisjoint(features):
            labels[n] = labels[n][0], 0.0  # one page's own, but there for getting about
    return Example(name, host, len(others), first, others, marks, labels, judge)


def near(one: str, other: str) -> float:
    """How many of the leading directories of two addresses are the same."""
    paths = (urlsplit(url).path.split("/")[:-1] for url in (one, other))
    left, right = ([part for part in path if part] for path in paths)
    same = 0
    while same < min(len(left), len(right)) and left[same] == right[same]:
        same += 1
    return same / max(len(left), len(right), 1)


def site_of_folder(job: tuple[str, str, list[dict[str, Any]]]) -> list[Example]:
    """The examples of a host of a folder of gold."""
    logging.disable(logging.CRITICAL)
    name, host, rows = job
    sources = [PageSource(row["url"] or "http://page.example/", row["html"]) for row in rows]
    lines: list[set[str]] = []
    if "labels" in rows[0]:
        for page in sources:
            flat = flatten(parse_html(page.html), page.url, Vocabulary())
            lines.append({" ".join(words(line.text)) for line in page_lines(flat)})
    often = Counter(line for each in lines for line in each)
    pages = []
    for n, row in enumerate(rows[: KEYS if lines else None]):
        ids = [md5((row["id"] + other["id"]).encode()).digest() for other in rows]  # noqa: S324
        places = [place for place in range(len(rows)) if place != n]
        if lines:
            places.sort(key=ids.__getitem__)
            known = _known_of_details(row, lines[n], often, len(rows))
            labelled: Labelled = partial(by_known, known), partial(found_lost_left, known)
        else:
            places.sort(key=lambda place: (-near(row["url"], rows[place]["url"]), ids[place]))
            labelled = partial(by_gold, row["gold"]), partial(f1, row["gold"])
        pages.append((sources[n], [sources[place] for place in places[:3]], labelled))
    return examples(name, host, pages)


def _known_of_details(
    row: dict[str, Any], lines: set[str], often: Counter[str], pages: int
) -> dict[str, tuple[str, float]]:
    values = {" ".join(words(value)) for each in row["labels"].values() for value in each}
    known = {}
    for line in lines:
        size = float(len(line.split()))
        has_value = any(f" {value} " in f" {line} " for value in values if value)
        if has_value and 2 * often[line] < pages:
            known[line] = "value", 1.0
        elif often[line] >= pages / 2 and size >= 2:
            known[line] = "boilerplate", size
        elif often[line] <= max(pages / 10, 2):
            known[line] = "own", size
    return known


def site_of_silver(job: tuple[Path, int]) -> list[Example]:
    """The examples of a site whose other pages tell what is boilerplate."""
    logging.disable(logging.CRITICAL)
    site = unlabelled_sites(job[0])[job[1]]
    files = [load_page(site.pages, site.pages.address(file)) for file in site.pages.files()]
    all_pages = {page.url: page for page in files if isinstance(page, WebPage)}
    read = {
        url: SitePage(urlsplit(url).path, lines_of(page.text, url))
        for url, page in all_pages.items()
    }
    pages = []
    for path, sound in site.keys:
        if not sound:
            continue
        key = site.key_page(path)
        own = SitePage(urlsplit(key.url).path, lines_of(key.text, key.url))
        beside = pages_beside(own, [page for url, page in read.items() if url != key.url])
        known: dict[str, tuple[str, float]] = {}
        for line, label in zip(own.lines, label_lines(own, beside), strict=True):
            row = " ".join(words(line.text))
            kind = label if label == known.get(row, (label,))[0] else ""
            known[row] = kind, float(len(row)) if kind else 0.0
        chosen = by_search("guided", Request(site.pages, key, 3, 100)).pages[:3]
        others = [page for url in chosen if isinstance(page := load_page(site.pages, url), WebPage)]
        pages.append(
            (
                PageSource(key.url, key.text),
                [PageSource(page.url, page.text) for page in others],
                (partial(by_known, known), partial(found_lost_left, known)),
            )
        )
    return examples("silver", site.name, pages)


def site_of_labels(job: tuple[Path, int]) -> list[Example]:
    """The examples of a labelled site: its key page."""
    logging.disable(logging.CRITICAL)
    site = list(labelled_sites(job[0]))[job[1]]
    key, labels = site.key_page(), site.labels()
    root = parse_html(key.text)
    elements = {number: element for element, number in number_elements(root).items()}
    gold = "\n".join(
        line for number in sorted(labels.main_content) for line in text_lines(elements[number])
    )
    chosen = by_search("guided", Request(site.pages, key, 3, 100)).pages[:3]
    others = [page for url in chosen if isinstance(page := load_page(site.pages, url), WebPage)]
    siblings = [PageSource(page.url, page.text) for page in others]
    labelled = partial(by_gold, gold), partial(f1, gold)
    return examples(
        "labelled", site.folder.name, [(PageSource(key.url, key.text), siblings, labelled)]
    )


# Logistic regression on features that a line has or has not.


class Table:
    """The features of many lines, by number."""

    def __init__(self) -> None:
        self.numbers: dict[Feature, int] = {}
        self.lines: Counter[int] = Counter()  # that have a feature

    def rows(self, lines: list[Features], *, grow: bool = True) -> list[np.ndarray]:
        """The numbers of the features of each line; only known ones unless the table may grow."""
        if grow:
            for features in lines:
                for each in features:
                    self.numbers.setdefault(each, len(self.numbers))
        found = [
            np.array([self.numbers[each] for each in line if each in self.numbers], np.int32)
            for line in lines
        ]
        if grow:
            for row in found:
                self.lines.update(row.tolist())
        return found

    def learn(
        self, rows: list[np.ndarray], labels: np.ndarray, counts: np.ndarray, penalty: float
    ) -> np.ndarray:
        """The weights of the features in whole numbers, by L-BFGS."""
        size = len(self.numbers)
        flat, places = np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(r) for r in rows])
        known = np.array([self.lines[n] >= RARE for n in range(size)])[flat]
        flat, places = flat[known], places[known]

        def loss(weights: np.ndarray) -> tuple[float, np.ndarray]:
            sums = np.bincount(places, weights[flat], len(rows))
            value = counts @ (np.logaddexp(0, sums) - labels * sums)
            errors = counts * (1 / (1 + np.exp(-sums)) - labels)
            slope = np.bincount(flat, errors[places], size) + penalty * weights
            return value + penalty / 2 * (weights @ weights), slope

        return np.round(UNIT * minimum(loss, np.zeros(size))).astype(int)


def minimum(
    loss: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray, most: int = 100
) -> np.ndarray:
    """Where a convex function of which the slope is known is least."""
    point, (value, slope) = start, loss(start)
    steps: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(most):
        way, shares = slope.copy(), []
        for step, change in reversed(steps):
            shares.append(step @ way / (step @ change))
            way -= shares[-1] * change
        if steps:
            way *= steps[-1][0] @ steps[-1][1] / (steps[-1][1] @ steps[-1][1])
        else:
            way /= np.abs(slope).max()
        for (step, change), share in zip(steps, reversed(shares), strict=True):
            way += (share - change @ way / (step @ change)) * step
        length = 1.0
        while True:
            reached, slope_there = loss(point - length * way)
            if reached <= value - 1e-4 * length * (slope @ way) or length < 1e-4:
                break
            length /= 2
        step, change = -length * way, slope_there - slope
        if step @ change > 1e-10:
            steps = [*steps[-9:], (step, change)]
        gained, point, value, slope = value - reached, point + step, reached, slope_there
        if gained < 1e-5 * abs(value):
            break
    return point


def scores(rows: list[np.ndarray], weights: np.ndarray) -> list[int]:
    """The scores of lines."""
    return [int(weights[row].sum()) for row in rows]


class Model:
    """Both stages, learnt for each fold of hosts from the others; -1 is learnt from all."""

    def __init__(self, known: list[Example], judging: list[Example]) -> None:
        self.known = known
        self.first, self.second = Table(), Table()
        self.rows: dict[int, list[np.ndarray]] = {}  # of the first stage, by scored lines
        hosts = sorted({example.host for example in known})
        Random(1).shuffle(hosts)
        self.folds = {host: n % FOLDS for n, host in enumerate(hosts)}
        for example in [*known, *judging]:
            for scored in (example.first, *(each for each, _ in example.others)):
                if id(scored) not in self.rows:
                    grow = example.host in self.folds
                    self.rows[id(scored)] = self.first.rows(scored.features, grow=grow)
                    scored.features = []
        firsts = self._learn(self.first, lambda each: self.rows[id(each.first)], PENALTY[0])
        second = {}
        for example in [*known, *judging]:
            weights = firsts[self.folds.get(example.host, -1)]
            for scored in (example.first, *(each for each, _ in example.others)):
                scored.scores = scores(self.rows[id(scored)], weights)
            others = [(scored.by_slot(), lines) for scored, lines in example.others]
            features, _ = second_stage(example.first, others, example.marks)
            grow = example.host in self.folds
            second[id(example)] = self.second.rows(features, grow=grow)
        seconds = self._learn(self.second, lambda each: second[id(each)], PENALTY[1])
        for example in [*known, *judging]:
            weights = seconds[self.folds.get(example.host, -1)]
            example.scores = scores(second[id(example)], weights)
        self.weights = self._named(self.first, firsts[-1]) | self._named(self.second, seconds[-1])

    def _learn(
        self, table: Table, rows: Callable[[Example], list[np.ndarray]], penalty: float
    ) -> dict[int, np.ndarray]:
        found = {}
        for fold in (-1, *range(FOLDS)):
            some = [each for each in self.known if self.folds[each.host] != fold]
            labels = np.array([label for each in some for label, _ in each.labels])
            counts = [counts_of(each) * weight for each in some for _, weight in each.labels]
            all_rows = [row for each in some for row in rows(each)]
            found[fold] = table.learn(all_rows, labels, np.array(counts), penalty)
        return found

    @staticmethod
    def _named(table: Table, weights: np.ndarray) -> dict[Feature, int]:
        return {each: int(weights[n]) for each, n in table.numbers.items() if abs(weights[n]) >= 5}


def counts_of(example: Example) -> float:
    """How much an example counts: few articles have several siblings here."""
    alone, compared = COUNTS[example.set]
    if example.set == "fundus" and example.siblings > 1:
        compared *= 3
    return compared if example.siblings else alone


# What comes of it.


def interval(by_host: dict[str, list[float]]) -> tuple[float, float, float]:
    """The mean over the hosts, and between what it is in 95 of 100 draws of as many hosts."""
    means = [sum(each) / len(each) for each in by_host.values()]
    random = Random(1)
    draws = sorted(sum(random.choices(means, k=len(means))) / len(means) for _ in range(2000))
    return sum(means) / len(means), draws[50], draws[-50]


def table(examples_: list[Example]) -> Iterator[str]:
    """The scores by set and by number of siblings."""
    groups: dict[tuple[str, int], list[Example]] = defaultdict(list)
    for each in examples_:
        groups[each.set, each.siblings].append(each)
    for (name, siblings), some in sorted(groups.items()):
        hosts: list[dict[str, list[float]]] = [defaultdict(list) for _ in range(3)]
        for each in some:
            lines = each.first.lines
            kept = kept_lines(list(lines), each.scores)
            text = "\n".join(line.text for line, yes in zip(lines, kept, strict=True) if yes)
            for values, value in zip(hosts, each.judge(text), strict=True):
                values[each.host].append(100 * value)
        what = ("found", "lost", "left") if name in DETAILS else ("recall", "precision", "F1")
        cells = [
            f"{word} {mean:5.1f} ({low:.1f} to {high:.1f})"
            for word, (mean, low, high) in zip(what, map(interval, hosts), strict=True)
        ]
        yield f"{name:9} {siblings} siblings  {len(hosts[0]):3} hosts  {'   '.join(cells)}"


def folder_jobs(folder: Path) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """The hosts of the sets in a folder."""
    for file in sorted(folder.glob("*.jsonl.xz")):
        hosts: dict[str, list[dict[str, Any]]] = defaultdict(list)
        with lzma.open(file, "rt", encoding="utf-8") as rows:
            for row in map(json.loads, rows):
                hosts[row["host"]].append(row)
        for host, some in hosts.items():
            yield file.name.removesuffix(".jsonl.xz"), host, some


def main() -> None:
    """Learn, and print what comes of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="NAME.jsonl.xz for each set")
    parser.add_argument("--silver", type=Path, help="sites whose pages tell what is boilerplate")
    parser.add_argument("--labelled", type=Path, help="labelled sites")
    parser.add_argument("--judge", default="dragnet", help="sets that only judge")
    parser.add_argument("--write", action="store_true", help="write the table of weights")
    options = parser.parse_args()
    with Pool(2) as pool:
        found = pool.map(site_of_folder, folder_jobs(options.folder), chunksize=1)
        if options.silver:
            count = len(unlabelled_sites(options.silver))
            found += pool.map(site_of_silver, [(options.silver, n) for n in range(count)], 1)
        if options.labelled:
            count = len(list(labelled_sites(options.labelled)))
            found += pool.map(site_of_labels, [(options.labelled, n) for n in range(count)], 1)
    everything = [example for some in found for example in some]
    only_judge = options.judge.split(",")
    known = [each for each in everything if each.set not in only_judge]
    judging = [each for each in everything if each.set in only_judge]
    model = Model(known, judging)
    print("\n".join(table(everything)))
    print(len(model.weights), "weights")
    if options.write:
        write(model.weights, {each.set for each in known})


def write(weights: dict[Feature, int], sets: set[str]) -> None:
    """Write the table of weights."""
    rows = ["\t".join(map(str, (weight, *feature))) for feature, weight in weights.items()]
    rows.sort(key=lambda row: row.split("\t")[1:])
    heading = f"# Learnt by benchmarks/learn_main_text.py from: {', '.join(sorted(sets))}"
    file = Path(tplspider.template.__path__[0], WEIGHTS)
    file.write_text("\n".join([heading, *rows, ""]), "utf-8")


if __name__ == "__main__":
    main()

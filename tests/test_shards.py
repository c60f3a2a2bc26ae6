import csv
import gzip
import json
import os
import random
import re
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.support.crawls import CRAWL, PROJECT, SETTINGS, Crawl, run_command, run_scrapy
from tests.support.many_sites import ManySites
from tests.support.scrapyd_server import (
    SCRIPTS,
    Scrapyd,
    clone_of_the_project,
    deploy,
    environment,
    running_scrapyd,
)
from tplspider.keylist import KeyList
from tplspider.shards import join, split

GUIDE = (PROJECT / "docs" / "scale.md").read_text("utf-8")
HEADER = ["id", "url", "topic"]
LINES = [
    [str(i), f"https://{'www.' if i % 2 else ''}h{i % 7 * (i % 3)}.example.co.uk/{i}", f'"a",\n{i}']
    for i in range(300)
]


def write_csv(path: Path, rows: list[list[str]]) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([HEADER, *rows])
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def host(address: str) -> str:
    return address.split("/")[2].removeprefix("www.")


def test_a_host_is_in_one_shard_and_the_columns_are_kept(tmp_path: Path) -> None:
    made = split(KeyList(str(write_csv(tmp_path / "l.csv", LINES))), tmp_path / "s", count=4)
    where = defaultdict(set)
    rows: list[list[str]] = []
    for number, shard in enumerate(made["shards"]):
        with (tmp_path / "s" / f"shard-{number}.csv").open(newline="") as file:
            header, *found = csv.reader(file)
        assert header == HEADER
        assert shard["lines"] == len(found)
        for row in found:
            where[row[1].split("/")[2].removeprefix("www.")].add(number)
        rows += found
    assert sorted(rows) == sorted(LINES)
    assert {len(shards) for shards in where.values()} == {1}
    assert min(shard["lines"] for shard in made["shards"]) > 30
    # In any order, the same shards; as many as have about so many lines.
    mixed = random.Random(1).sample(LINES, len(LINES))
    split(KeyList(str(write_csv(tmp_path / "m.csv", mixed))), tmp_path / "m", count=4)
    assert contents(tmp_path / "m") == contents(tmp_path / "s")
    assert len(split(KeyList(str(tmp_path / "m.csv")), tmp_path / "p", pages=50)["shards"]) == 6


def test_domains_and_lines_with_a_scope_of_their_own(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "l.csv", LINES)
    assert split(KeyList(str(path)), tmp_path / "s", count=4, scope="domain")["sites"] == 1
    (tmp_path / "l.jl").write_text(json.dumps({"url": "example.org", "tpl_scope": "domain"}))
    with pytest.raises(ValueError, match="scope"):
        split(KeyList(str(tmp_path / "l.jl")), tmp_path / "t", count=2)


def test_formats_and_malformed_lines(tmp_path: Path) -> None:
    lists = {
        "k.txt": b"# a comment\nb.example/1\n\na.example/2\nnot an address\n",
        "k.jsonl": b'{"url": "a.example", "tags": ["x"]}\nnot JSON\n{"url": "b.example"}',
    }
    for name, data in lists.items():
        with gzip.open(tmp_path / f"{name}.gz", "wb") as file:
            file.write(data)
        made = split(KeyList(str(tmp_path / f"{name}.gz")), tmp_path / name, count=9)
        assert made["lines"] == 3
        shards = [gzip.decompress(each.read_bytes()) for each in (tmp_path / name).glob("*.gz")]
        found = [line for shard in shards for line in shard.splitlines()]
        wanted = [line for line in data.splitlines() if line and line[:1] != b"#"]
        assert sorted(found) == sorted(wanted)


def shard(*arguments: object) -> Crawl:
    return run_scrapy("shard", *map(str, arguments), folder=Path.cwd())


def answers(shards: Path, results: Path, ending: str) -> None:
    results.mkdir()
    made = json.loads((shards / "manifest.json").read_text())
    for number, each in enumerate(made["shards"]):
        rows: list[dict[str, Any]] = []
        for line in KeyList(str(shards / each["file"])):
            found = {"final_url": line.address, "main_text": "x" * 200_000 + "\ny"}
            summary = {"key_outcome": "ok", "requested_url": line.address, "line": line.number}
            rows.append({**line.row, **found} if ending == "csv" else summary)
        with (results / f"shard-{number}.{ending}").open("w", newline="") as file:
            if ending == "csv":
                writer = csv.DictWriter(file, [*HEADER, "final_url", "main_text"])
                writer.writeheader()
                writer.writerows(rows)
            else:
                file.writelines(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("ending", ["csv", "summary.jl"])
def test_the_join_notices_what_is_missing_or_doubled(tmp_path: Path, ending: str) -> None:
    shards, results, out = tmp_path / "s", tmp_path / "r", tmp_path / f"all.{ending}"
    rows = [*LINES[:20], LINES[3]]  # an address that stands there twice
    split(KeyList(str(write_csv(tmp_path / "l.csv", rows))), shards, count=3)
    answers(shards, results, ending)
    assert join(results, out, shards) == []
    whole = out.read_bytes()
    if ending == "csv":
        with out.open(newline="") as file:
            found = list(csv.reader(file))
        assert sorted(row[:3] for row in found) == sorted([HEADER, *rows])
    else:
        assert len(whole.splitlines()) == len(rows)
    out.unlink()

    first = results / f"shard-0.{ending}"
    kept = first.read_bytes()
    # The last row, whose cells have line ends.
    at = [m.start() + 1 for m in re.finditer(rb"\n(?=\d+,http|\{)", kept)][-1]
    changes = {
        "missing": kept[:at],
        "doubled": kept + kept[at:],
        "cut": kept[: at + 9],
        "end": kept[:-3],
    }
    for change, data in changes.items():
        first.write_bytes(data)
        (fault,) = join(results, out, shards)
        assert fault.startswith(first.name), change
        assert not out.exists()
    # The result of another shard.
    first.write_bytes((results / f"shard-1.{ending}").read_bytes())
    assert len(join(results, out, shards)) == 2
    first.unlink()
    (fault,) = join(results, out, shards)
    assert fault.startswith(first.name)


def test_feeds_of_pages_may_be_empty_but_not_doubled(tmp_path: Path) -> None:
    split(KeyList(str(write_csv(tmp_path / "l.csv", LINES))), tmp_path / "s", count=2)
    (tmp_path / "shard-0.jl").write_text("")
    row = json.dumps({"search_id": "a", "rank": 1}) + "\n"
    (tmp_path / "shard-1.jl").write_text(row)
    assert join(tmp_path, tmp_path / "all.jl", tmp_path / "s") == []
    assert (tmp_path / "all.jl").read_text() == row
    (tmp_path / "shard-1.jl").write_text(row * 2)
    assert len(join(tmp_path, tmp_path / "all.jl", tmp_path / "s")) == 1


@pytest.mark.slow
@pytest.mark.quick
def test_the_command(tmp_path: Path) -> None:
    path, shards = write_csv(tmp_path / "l.csv", LINES), tmp_path / "s"
    assert shard(path, "-O", shards, "--count", 3).code == 0
    assert {path.name for path in shards.iterdir()} == {
        "manifest.json",
        *(f"shard-{number}.csv" for number in range(3)),
    }
    answers(shards, tmp_path / "r", "csv")
    done = shard(shards, "--join", tmp_path / "r", "-O", tmp_path / "all.csv")
    assert (done.code, (tmp_path / "all.csv").read_text().count(",https://")) == (0, 600)
    (tmp_path / "r" / "shard-2.csv").unlink()
    done = shard(shards, "--join", tmp_path / "r", "-O", tmp_path / "all.csv")
    assert (done.code, done.log.count("\n")) == (1, 1)
    assert "shard-2.csv" in done.log


@pytest.mark.nightly
def test_memory_is_flat(tmp_path: Path) -> None:
    """A million hosts take at most 60 MB more than ``scrapy version``."""
    path = tmp_path / "list.txt"
    path.write_text("".join(f"https://host{i}.example.org/{i}\n" for i in range(1_000_000)))
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=2, check=True);"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    peaks = []
    for words in (["version"], ["shard", str(path), "-O", str(tmp_path / "s"), "--count", "8"]):
        command = [sys.executable, "-c", code, sys.executable, "-m", "scrapy", *words]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] - peaks[0] < 60_000  # kB


# The two nodes.

PLAIN = ("line", "shared", "wasted")  # of a line that has another number, and other neighbours


def rows_of(path: Path) -> list[str]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(json.dumps({k: v for k, v in row.items() if k not in PLAIN}) for row in rows)


def blocks_of_scrapyd() -> tuple[str, str, str]:
    section = GUIDE.partition("\n## scrapyd\n")[2].partition("\n## ")[0]
    place, lost, fetch = re.findall(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    fast = {**SETTINGS, "TPLSPIDER_ALLOW_PRIVATE": "True"}
    words = " ".join(f"--arg setting={name}={value}" for name, value in fast.items())
    return place.replace(" template_candidates", f" {words} template_candidates"), lost, fetch


@pytest.mark.nightly
def test_two_nodes_and_one_is_lost(tmp_path: Path) -> None:
    clone = clone_of_the_project(tmp_path / "clone" / "tplspider")
    (tmp_path / "clone" / "venv").mkdir()
    (tmp_path / "clone" / "venv" / "bin").symlink_to(SCRIPTS)
    place, lost, fetch = blocks_of_scrapyd()
    python_path = {"PYTHONPATH": str(PROJECT)}
    with ManySites(latency=0.1) as sites:
        rows = sites.key_pages(60, 20, seed=5)
        write = [[str(i), row["url"], "x"] for i, row in enumerate(rows)]
        pages = write_csv(clone / "pages.csv", write)
        alone = run_scrapy(
            *(*CRAWL, f"-aurls={pages}", f"-O{tmp_path / 'one.jl'}"),
            f"-asummary={tmp_path / 'one.summary.jl'}",
            folder=tmp_path,
        )
        assert alone.code == 0, alone.log
        assert shard(pages, "-O", clone / "shards", "--count", 6).code == 0
        with (
            running_scrapyd(tmp_path / "a", python_path, max_proc="2") as first,
            running_scrapyd(tmp_path / "b", python_path, max_proc="2") as second,
        ):
            for node in (first, second):
                deploy(clone, node)
                subprocess.run(["cp", "-r", clone / "shards", feeds(node)], check=True)
            nodes = [node.url.rstrip("/") for node in (first, second)]
            (clone / "nodes.txt").write_text("\n".join(nodes) + "\n")
            bash(clone, place)
            while not any(path.stat().st_size for path in feeds(second).glob("*.summary.jl")):
                time.sleep(0.1)
            kill_all_of(second.folder)
            bash(clone, place.partition("}\n")[0] + "}\n" + lost, LOST=nodes[1], OTHER=nodes[0])
            for number in range(6):
                first.wait(f"shard-{number}")
            bash(clone, fetch)
    assert len((clone / "lost.txt").read_text().splitlines()) == 3
    for name in ("jl", "summary.jl"):
        assert rows_of(clone / f"all.{name}") == rows_of(tmp_path / f"one.{name}")


def feeds(node: Scrapyd) -> Path:
    folder = node.folder / "items" / "feeds"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def bash(folder: Path, script: str, **variables: str) -> None:
    account = {"SCRAPYD_USERNAME": "alice", "SCRAPYD_PASSWORD": "change-me"}
    env = environment(folder, **account, **variables)
    done = run_command("bash", "-euo", "pipefail", "-c", script, folder=folder, env=env)
    assert done.code == 0, (done.stdout, done.log)


def kill_all_of(folder: Path) -> None:
    """The node loses its power: SIGKILL for scrapyd and its jobs."""
    for path in Path("/proc").glob("[0-9]*/cwd"):
        try:
            here = path.resolve()
        except OSError:
            continue
        if here == folder:
            os.kill(int(path.parent.name), 9)

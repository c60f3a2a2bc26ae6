"""Lists of key pages in parts for several machines, and what was found for each part in one file.

All lines of a host are in one shard, so no two machines request it at the same time. What is known
of the lines is in a temporary file, so that memory does not grow with the list.
"""

from __future__ import annotations

import csv
import gzip
import json
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from hashlib import blake2b
from heapq import heapify, heapreplace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from tplspider.arguments import masked
from tplspider.keylist import KeyList, noting
from tplspider.search.session import SearchOptions
from tplspider.web.addresses import registered_domain
from tplspider.web.text import safe_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tplspider.keylist import KeyLine

MANIFEST = "manifest.json"
_NAMED = 5  # addresses that a fault of a shard names

_TABLES = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -8000;
CREATE TABLE lines (site TEXT, place BLOB, text BLOB);
CREATE TABLE sites (site TEXT PRIMARY KEY, shard INTEGER) WITHOUT ROWID;
"""


def split(
    lines: KeyList, folder: Path, *, count: int = 0, pages: int = 0, scope: str = "host"
) -> dict[str, Any]:
    """Write *count* shards of a list, or shards of about *pages* lines, and their manifest.

    The order of the list does not matter. ValueError if the list cannot be split, OSError if the
    shards cannot be written.
    """
    with closing(sqlite3.connect("")) as database:  # a temporary file
        database.executescript(_TABLES)
        database.executemany("INSERT INTO lines VALUES (?, ?, ?)", _placed(lines, scope))
        (total,) = database.execute("SELECT count(*) FROM lines").fetchone()
        (sites,) = database.execute("SELECT count(DISTINCT site) FROM lines").fetchone()
        if not total:
            raise ValueError("it has no addresses")
        shards = [[0, number, 0] for number in range(min(count or -(-total // pages), sites))]
        database.executemany("INSERT INTO sites VALUES (?, ?)", _balanced(database, shards))
        is_gz = lines.path.suffix.lower() == ".gz"
        ending = lines.format + (".gz" if is_gz else "")
        folder.mkdir(parents=True, exist_ok=True)
        by_shard = database.execute(
            "SELECT shard, text FROM lines JOIN sites USING (site) ORDER BY shard, site = '', place"
        )
        for number, rows in groupby(by_shard, key=itemgetter(0)):
            path = folder / f"shard-{number}.{ending}"
            with gzip.GzipFile(path, "wb", mtime=0) if is_gz else path.open("wb") as file:
                file.writelines([_line(lines.header)] if lines.header else [])
                file.writelines(text for _, text in rows)
    manifest = {
        "column": lines.column,
        "scope": scope,
        "lines": total,
        "sites": sites,
        "shards": [
            {"file": f"shard-{number}.{ending}", "lines": size, "sites": of_shard}
            for size, number, of_shard in sorted(shards, key=itemgetter(1))
        ],
    }
    # The last of all: a folder without it is not finished.
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    return manifest


def _placed(lines: Iterable[KeyLine], scope: str) -> Iterator[tuple[str, bytes, bytes]]:
    """The site of each line, its place in the shard, and the line itself.

    Lines stand in an order by chance, so that a large site does not fill the first half of a shard.
    """
    defaults = SearchOptions(scope=scope)
    for line in lines:
        text = _line(line.text)
        yield site_of(line, defaults), blake2b(text, digest_size=8).digest(), text


def site_of(line: KeyLine, defaults: SearchOptions) -> str:
    """What is not to be split: the host of a line, or its domain; "" for a malformed line.

    ValueError if the line is to be searched in another scope.
    """
    try:
        key = line.key_page(defaults)
    except ValueError:
        return ""  # the crawl answers it
    if key.options.scope != defaults.scope == "host":
        raise ValueError(f"line {line.number} has its own scope: use --scope for all")
    site = key.host.strip(".").removeprefix("www.")
    return (registered_domain(site) if defaults.scope == "domain" else "") or site


def _line(text: str) -> bytes:
    return text.rstrip("\r\n").encode("utf-8", "surrogateescape") + b"\n"


def _balanced(database: sqlite3.Connection, shards: list[list[int]]) -> Iterator[tuple[str, int]]:
    """The shard of each site: the largest site first, each into the shard with the fewest lines."""
    heapify(shards)
    sizes = "SELECT site, count(*) FROM lines GROUP BY site ORDER BY count(*) DESC, site"
    for site, size in database.execute(sizes):
        lines, number, sites = shards[0]
        heapreplace(shards, [lines + size, number, sites + 1])
        yield site, number


def join(results: Path, out: Path, folder: Path) -> list[str]:
    """Concatenate the results of all shards in *folder*; gives what is missing or doubled.

    The result of ``shard-7.csv`` is ``shard-7`` with the ending of *out*, .jl or .csv. If anything
    is missing or doubled, *out* is not written. ValueError if there is no manifest.
    """
    try:
        manifest = json.loads((folder / MANIFEST).read_text())
        shards, column = manifest["shards"], manifest["column"]
    except (OSError, ValueError, KeyError, TypeError):
        raise ValueError(f"there is no {MANIFEST} in {folder}: give the folder of shards") from None
    csv.field_size_limit(sys.maxsize)  # texts are longer than Python expects
    ending, header, kind = out.name.partition(".")[2], "", ""
    faults: list[str] = []
    empty: list[str] = []
    unfinished = out.with_name(f"{out.name}.part")
    with unfinished.open("w", encoding="utf-8", newline="") as file:
        for shard in shards:
            path = results / f"{shard['file'].partition('.')[0]}.{ending}"
            found: Counter[str] = Counter()
            try:
                for row, text in _rows(path):
                    if row is None:
                        file.write("" if header else text)
                        header = header or text
                        faults += [f"{path.name}: other columns"] if text != header else []
                        continue
                    kind = kind or _kind(row)
                    found[_answered(row, kind, column)] += 1
                    file.write(text)
            except OSError as error:
                faults.append(f"{path.name}: {error.strerror}")
            except (ValueError, TypeError, csv.Error) as error:
                faults.append(f"{path.name}: {error}")
            else:
                if not found:
                    empty.append(path.name)
                    continue
                wanted = _wanted(folder / shard["file"], column, kind, ending, found)
                faults += _compared(path.name, "no answer for", wanted - found)
                faults += _compared(path.name, "doubled, or of another shard:", found - wanted)
    if kind != "search":  # a search may have found no pages
        faults += [f"{name}: no answer in it" for name in empty]
    if faults:
        unfinished.unlink()
    else:
        unfinished.replace(out)
    return faults


def _rows(path: Path) -> Iterator[tuple[dict[str, Any] | None, str]]:
    """The rows of a feed, each with its text; None for the header of CSV."""
    with path.open(encoding="utf-8", newline="") as file:
        if path.suffix != ".csv":
            for line in file:
                yield dict(json.loads(line)), line if line.endswith("\n") else f"{line}\n"
            return
        read: list[str] = []
        reader = csv.reader(noting(file, read), strict=True)
        names = next(reader, [])
        yield None, "".join(read)
        read.clear()
        for cells in reader:
            if not read[-1].endswith(("\n", "\r")):
                raise ValueError("its last line is incomplete")
            yield dict(zip(names, cells, strict=True)), "".join(read)
            read.clear()


def _kind(row: dict[str, Any]) -> str:
    """What a feed has a row for: a line of the list, or a page that a search found."""
    if {"final_url", "found_final_url"} & row.keys():
        return "table"
    return "summary" if "key_outcome" in row else "search"


def _answered(row: dict[str, Any], kind: str, column: str) -> str:
    """What a row answers: an address, or the place in a search."""
    if kind == "search":
        return f"{row.get('search_id')} {row.get('rank', '')}"
    return str(row.get(column if kind == "table" else "requested_url") or "")


def _wanted(shard: Path, column: str, kind: str, ending: str, found: Counter[str]) -> Counter[str]:
    """How often each address is to be answered."""
    if kind == "search":
        return Counter(found.keys())
    wanted: Counter[str] = Counter()
    for line in KeyList(str(shard), column):
        address = str(line.row.get(column) or "")
        if kind == "summary":
            try:
                address = line.key_page(SearchOptions()).requested_url
            except ValueError:
                address = masked(line.address)
        wanted[safe_cell(address) if ending.endswith("csv") else address] += 1
    return wanted


def _compared(name: str, what: str, addresses: Counter[str]) -> list[str]:
    shown = ", ".join(f"{address or 'a line without one'}" for address in list(addresses)[:_NAMED])
    more = f" and {addresses.total()} in all" if len(addresses) > _NAMED else ""
    return [f"{name}: {what} {shown}{more}"] if addresses else []

"""Archives and folders on which two checkouts are compared: WARC out, WARC in, and stripping."""

from __future__ import annotations

import gzip
import json
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from benchmarks.compared_commands import BY_ARRIVAL, LAST, Case, case_folder, files_of, told
from benchmarks.compared_lists import write_list
from benchmarks.plain_site import PAGES, pages
from tests.support.made_up_sites import answer, made_up_site
from tests.support.many_sites import ManySites
from tests.support.warc_files import packed, record, response

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from benchmarks.checkouts import Checkout
    from benchmarks.compared_rows import Written

    Row = dict[str, Any]

SITES = 12  # made-up ones, beside the one with proportions of real sites
SECTIONS = 3  # of that one
# Times, what names other records by chance, and what follows from those.
BY_TIME = (
    *("WARC-Date", "WARC-Record-ID", "WARC-Concurrent-To"),
    *("WARC-Refers-To", "WARC-Refers-To-Date", "WARC-Warcinfo-ID"),
)


def addresses() -> Iterator[tuple[str, str]]:
    """The pages that are there to be archived, and what they are."""
    for number in range(SITES):
        for path in (*made_up_site(number).pages, "/about.html", "/go/", "/lost.html"):
            yield f"site-{number}.test", path


def archive() -> bytes:
    """A WARC file with whole sites: pages, a redirect and an error of each."""
    info = b"software: benchmarks\r\n"
    records = [record("warcinfo", content=info, Content_Type="application/warc-fields")]
    for host, path in addresses():
        found = answer(host, path)
        headers = {name.replace("-", "_"): value for name, value in found.headers.items()}
        records.append(response(f"http://{host}{path}", found.body, f"{found.status} -", **headers))
    records += [response(url, html) for url, html in pages()[: SECTIONS * PAGES]]
    return packed(records)


def fill(folder: Path) -> None:
    """A folder with the same pages, as a mirror has them, and files that are no pages."""
    found = [(f"http://{host}{path}", answer(host, path)) for host, path in addresses()]
    bodies = {url: each.body for url, each in found if each.status == 200}
    bodies |= {url: html.encode() for url, html in pages()[: SECTIONS * PAGES]}
    for url, body in bodies.items():
        parts = urlsplit(url)
        name = f"{parts.netloc}{parts.path}"
        file = folder / (f"{name}index.html" if name.endswith("/") else name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body)
    (folder / "empty.html").touch()
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (folder / "alone.html").write_text("<title>Alone</title><p>Nothing like it.", "utf-8")
    (folder / "link.html").symlink_to("alone.html")


def records_of(content: bytes) -> Iterator[Row]:
    """The records of a .warc.gz, a header or a line of the content to a column."""
    rest = gzip.decompress(content)
    while rest:
        head, _, rest = rest.partition(b"\r\n\r\n")
        _version, *lines = head.decode().split("\r\n")
        told = dict(line.split(": ", 1) for line in lines)
        length = int(told["Content-Length"])
        body, rest = rest[:length], rest[length + 4 :]
        row: Row = {
            "type": told.pop("WARC-Type"),
            "url": told.pop("WARC-Target-URI", ""),
            "search": told.pop("WARC-Tplspider-Search", ""),
        }
        row |= {name: value for name, value in told.items() if name not in BY_TIME}
        if "http" in told.get("Content-Type", ""):
            http, _, body = body.partition(b"\r\n\r\n")
            first, *lines = http.decode("latin-1").split("\r\n")
            row["HTTP"] = first
            row |= {f"HTTP {line.partition(':')[0]}": line.partition(": ")[2] for line in lines}
        yield {**row, "body": body.decode("latin-1")}


def as_rows(content: bytes) -> bytes:
    """A .warc.gz as a feed of its records."""
    return "".join(f"{json.dumps(row)}\n" for row in records_of(content)).encode()


def crawl_and_back(lines: list[Row], strategy: str, checkout: Checkout) -> Written:
    """What a crawl keeps in a WARC file, and what is found in that file."""
    with case_folder(checkout) as folder:
        keys, kept, out = folder / "keys.csv", folder / "kept.warc.gz", folder / "out"
        out.mkdir()
        write_list(keys, lines, checkout)
        given = {"urls": keys, "warc": kept, "strategy": strategy, "n": 3}
        feeds = {"summary": out / "summary.jl", "template": out / "template.jl"}
        command = checkout.crawl_command({**given, **feeds})
        done = checkout.run([*command, f"-O{out / 'candidates.jl'}"])
        written = told(done, checkout, folder, without=LAST)
        if kept.is_file():
            written["records.jl"] = as_rows(kept.read_bytes())
        again = checkout.run(
            checkout.command(
                *("archive", str(kept), "-i", str(keys), "-O", str(out / "again.jl")),
                *(f"--summary={out / 'again-summary.jl'}", f"--template={out / 'again-texts.jl'}"),
                arguments={"strategy": strategy, "n": 3},
            )
        )
        return {**written, **files_of(out), **told(again, checkout, folder, name="archive.")}


def search(content: bytes, given: Row, options: tuple[str, ...], checkout: Checkout) -> Written:
    """What is found in a WARC file that others made, from some pages of each host."""
    with case_folder(checkout) as folder:
        out, file = folder / "out", folder / "site.warc.gz"
        out.mkdir()
        file.write_bytes(content)
        feeds = [f"--summary={out / 'summary.jl'}", f"--template={out / 'template.jl'}"]
        words = ("archive", str(file), *options, "-O", str(out / "candidates.csv"), *feeds)
        done = checkout.run(checkout.command(*words, arguments=given))
        return {**files_of(out), **told(done, checkout, folder)}


def strip(content: bytes | None, name: str, options: tuple[str, ...], side: Checkout) -> Written:
    """The rows of a stripped WARC file; without one, of a folder."""
    with case_folder(side) as folder:
        out = folder / "out"
        out.mkdir()
        source = folder / ("mirror" if content is None else "site.warc.gz")
        if content is None:
            fill(source)
        else:
            source.write_bytes(content)
        words = ("strip", str(source), "-O", str(out / name), *options)
        done = side.run(side.command(*words))
        return {**files_of(out), **told(done, side, folder)}


def warc_part(stack: ExitStack, options: argparse.Namespace) -> Iterator[Case]:
    """Crawls that keep what they load, and searches in that: one key page of each site."""
    server = stack.enter_context(ManySites())
    lines: list[Row] = [
        {"id": number, "url": server.url(f"site-{number}", made_up_site(number).articles[0])}
        for number in range(SITES)
    ]
    lines.append({"id": "redirect", "url": server.url("site-20", "/go/")})
    lines.append({"id": "missing", "url": server.url("site-21", "/lost.html")})
    for strategy in ("paper",) if options.quick else ("paper", "guided"):
        yield Case(
            f"{len(lines)} key pages to a WARC file and back, port {server.port}: {strategy}",
            partial(crawl_and_back, lines, strategy),
            ordered=False,
            ignored=(*BY_ARRIVAL, "archived_bytes"),
        )


def archive_part(_stack: ExitStack, options: argparse.Namespace) -> Iterator[Case]:
    """Searches in a WARC file."""
    content = archive()
    for given in ({"strategy": "paper", "n": 3}, {"strategy": "guided", "n": 2}):
        yield Case(
            f"scrapy archive --every 3 of {SITES + 1} sites: {given}",
            partial(search, content, given, ("--every=3",)),
        )
        if options.quick:
            return


def strip_part(_stack: ExitStack, options: argparse.Namespace) -> Iterator[Case]:
    """The templates off all pages of a folder and of a WARC file."""
    content = archive()
    more = ("--markdown", "--html")
    yield Case("scrapy strip of a folder", partial(strip, None, "pages.jl", more))
    yield Case("scrapy strip of a WARC file", partial(strip, content, "pages.csv", ()))
    if not options.quick:
        yield Case("scrapy strip of a folder, CSV", partial(strip, None, "pages.csv", ()))
        yield Case("scrapy strip of a WARC file, JSON", partial(strip, content, "p.json", more))

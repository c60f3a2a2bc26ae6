"""What TPLSPIDER_FIELDS costs in a broad crawl: many hosts with three pages each.

    python -m benchmarks.field_hosts [--hosts 5000] [--times 1] [--checkout DIR]

The hosts are served on 127.0.0.1. A plain crawl and one with the fields take turns; memory is that
of the crawl's process at its largest, and beside it that of its worker. Exits with 1 if an item is
lost, twice, out of order or without its text, or if the crawl takes more than twice the memory.
``--checkout`` runs another checkout of this project.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

from benchmarks.batch_crawls import PROJECT, SETTINGS, Run, run_to_the_end
from tests.support.field_sites import own_words, page_html

PAGES = 3
FIELDS = '{"text": "main_text", "evidence": "evidence"}'
SPIDER = """
import scrapy


class Hosts(scrapy.Spider):
    name = "hosts"
    custom_settings = {
        "CONCURRENT_REQUESTS": 100,
        "TELNETCONSOLE_ENABLED": False,
    }

    async def start(self):
        for number in range(int(self.hosts)):
            yield scrapy.Request(f"http://host{number}.test:{self.port}/page0")

    def parse(self, response):
        yield {"url": response.url}
        for link in response.css("#more a::attr(href)").getall():
            yield response.follow(link)
"""


async def serve() -> None:
    """Answer any host, and print the port; until standard input ends."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                host = head.partition(b"Host: ")[2].partition(b".")[0].decode()
                number = int(path.removeprefix("/page"))
                links = [f"/page{number + 1}"] * (number + 1 < PAGES)
                body = page_html(host, number, links).encode()
                size = f"Content-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
                writer.write(f"HTTP/1.1 200 OK\r\n{size}".encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    server.close()


def crawl(folder: Path, port: int, hosts: int, fields: str, cwd: Path) -> tuple[Run, float]:
    """Crawl all hosts into out.jl; what it cost, and the memory of its worker in MB."""
    settings = {**SETTINGS, "ADDONS": '{"tplspider.addon.Addon": 500}', "TPLSPIDER_FIELDS": fields}
    settings |= {"ROBOTSTXT_OBEY": "False", "CONCURRENT_ITEMS": "100"}  # this project's differ
    spider = folder / "hosts.py"
    spider.write_text(SPIDER, "utf-8")
    command = [
        *(sys.executable, "-m", "scrapy", "runspider", str(spider), "-O", str(folder / "out.jl")),
        *(f"-ahosts={hosts}", f"-aport={port}"),
        *(f"-s{name}={value}" for name, value in settings.items()),
    ]
    over, peaks = Event(), [0.0]
    watch = Thread(target=_watch_workers, args=(str(spider), over, peaks))
    watch.start()
    try:
        return run_to_the_end(command, folder, cwd=cwd), peaks[0]
    finally:
        over.set()
        watch.join()


def _watch_workers(spider: str, over: Event, peaks: list[float]) -> None:
    """Keep the largest memory of processes that the crawl of this spider has started."""
    while not over.wait(0.2):
        lines = subprocess.run(
            ["ps", "-eo", "pid,ppid,rss,args"],  # noqa: S607
            capture_output=True,
            text=True,
            check=True,
        ).stdout.splitlines()
        rows = [line.split(None, 3) for line in lines[1:]]
        crawls = {row[0] for row in rows if len(row) > 3 and spider in row[3]}
        now = sum(int(row[2]) for row in rows if row[1] in crawls) / 1024
        peaks[0] = max(peaks[0], now)


def faults(file: Path, hosts: int, *, with_fields: bool) -> list[str]:
    """What is wrong with the items of a crawl."""
    rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    found = []
    by_host: dict[str, list[int]] = {f"host{number}": [] for number in range(hosts)}
    for row in rows:
        host, number = row["url"].split("/")[2].partition(".")[0], int(row["url"][-1])
        by_host[host].append(number)
        if with_fields and own_words(host, number) not in row.get("text", ""):
            found.append(f"{row['url']} is without its text")
    found += [
        f"{host}: pages {given}" for host, given in by_host.items() if given != [*range(PAGES)]
    ]
    return found


def main() -> int:
    """Crawl by turns, and print a line for each crawl."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=5000)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--checkout", type=Path, default=PROJECT)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return 0
    command = [sys.executable, "-m", "benchmarks.field_hosts", "--serve"]
    pipe, holds = subprocess.PIPE, True
    with (
        TemporaryDirectory() as folder,
        subprocess.Popen(command, cwd=PROJECT, stdin=pipe, stdout=pipe) as server,  # noqa: S603
    ):
        assert server.stdout
        port = int(server.stdout.readline())
        for _ in range(options.times):
            memory = {}
            for name, fields in (("plain", ""), ("fields", FIELDS)):
                done, worker = crawl(
                    Path(folder), port, options.hosts, fields, options.checkout.resolve()
                )
                wrong = faults(Path(folder) / "out.jl", options.hosts, with_fields=bool(fields))
                memory[name] = done.megabytes
                print(
                    f"{name}: {done.megabytes:.0f} MB, worker {worker:.0f} MB,"
                    f" {done.seconds:.1f} s, {done.cpu_seconds:.1f} s of processor time,"
                    f" {len(wrong)} faults {wrong[:3]}",
                    flush=True,
                )
                holds = holds and not wrong
            holds = holds and memory["fields"] <= 2 * memory["plain"]
        assert server.stdin
        server.stdin.close()
    return not holds


if __name__ == "__main__":
    sys.exit(main())

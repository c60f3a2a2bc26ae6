"""A third-party project on which two checkouts are compared: fields for the items of its spider.

It is not installed anywhere; the folder of a checkout is where Python finds the package.
"""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING

from benchmarks.compared_commands import Case, case_folder, told
from tests.support.made_up_sites import made_up_site
from tests.support.many_sites import ManySites

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from contextlib import ExitStack
    from pathlib import Path

    from benchmarks.checkouts import Checkout
    from benchmarks.compared_rows import Written

SITES = 3
FIELDS = (
    *("main_text", "main_html", "main_markdown", "content_text", "content_html"),
    *("content_markdown", "title", "evidence", "template_share", "template_html"),
    "not_template",  # the pages that were compared have had several names
)
# Which items wait for how long depends on when pages come.
BY_TIME = ("fields/held_max", "fields/given_out_early")
HELD = re.compile(rb"\d+(?= were held back)")
FILES = {
    "scrapy.cfg": "[settings]\ndefault = foreign.settings\n",
    "foreign/__init__.py": "",
    "foreign/settings.py": """
SPIDER_MODULES = ["foreign.spiders"]
ROBOTSTXT_OBEY = False
TELNETCONSOLE_ENABLED = False
CONCURRENT_REQUESTS = 1
""",
    "foreign/spiders/__init__.py": """
from scrapy import Spider


class Pages(Spider):
    name = "pages"

    def __init__(self, addresses="", **kwargs):
        super().__init__(**kwargs)
        self.start_urls = addresses.split()

    def parse(self, response):
        yield {"url": response.url, "size": len(response.body)}
""",
}


def make_project(folder: Path) -> None:
    """A project that knows nothing of us."""
    for name, text in FILES.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def crawl(addresses: list[str], checkout: Checkout) -> Written:
    """The items of its spider; then the same again, with the pools of the first time."""
    with case_folder(checkout) as folder:
        project, feed = folder / "project", folder / "items.jl"
        make_project(project)
        settings = {
            "ADDONS": '{"tplspider.addon.Addon": 500}',
            "TPLSPIDER_FIELDS": json.dumps({f"its_{name}": name for name in FIELDS}),
            "TPLSPIDER_POOL_DIR": str(folder / "pools"),
        }
        written: Written = {}
        for turn in ("first", "second"):
            command = checkout.command(
                *("crawl", "pages", "-O", str(feed)),
                arguments={"addresses": " ".join(addresses)},
                settings=settings,
            )
            done = checkout.run(command, project=project)
            written |= told(done, checkout, folder, name=f"{turn}.")
            written[f"{turn}.log"] = HELD.sub(b"#", written[f"{turn}.log"])
            if feed.is_file():
                written[f"{turn}.jl"] = feed.read_bytes()
        return written


def fields_part(stack: ExitStack, options: argparse.Namespace) -> Iterator[Case]:
    """Fields of items, over some sites by turns."""
    server = stack.enter_context(ManySites())
    addresses = [
        server.url(f"site-{number}", path)
        for number in range(1 if options.quick else SITES)
        for path in [*made_up_site(number).pages, "/about.html"]
    ]
    yield Case(
        f"fields of {len(addresses)} items of a third-party spider, port {server.port}",
        partial(crawl, addresses),
        ordered=False,
        ignored=BY_TIME,
    )

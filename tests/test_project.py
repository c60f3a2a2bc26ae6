"""The project as a newcomer meets it: the demo, the commands, the spider as a class."""

from __future__ import annotations

import re
import subprocess
import sys
from argparse import SUPPRESS
from typing import TYPE_CHECKING

import pytest
from scrapy.cmdline import ScrapyArgumentParser
from scrapy.commands import ScrapyHelpFormatter
from scrapy.commands.crawl import Command as CrawlCommand
from scrapy.crawler import Crawler
from scrapy.settings import Settings

import tplspider
from tests.support.crawls import PROJECT, run_scrapy
from tplspider.commands import archive, demo, report, shard, strip, text, ui
from tplspider.spiders.template_candidates import TemplateCandidatesSpider

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def test_the_demo_prints_the_answer(tmp_path: Path) -> None:
    done = run_scrapy(
        "demo",
        f"--report={tmp_path / 'r.html'}",
        folder=tmp_path,
        settings={"LOG_LEVEL": "WARNING"},
    )
    assert done.code == 0
    assert done.log == ""
    rows = re.findall(r"^  (\d)  +(\S+)  +(.*?)(  +yes)?$", done.stdout, re.MULTILINE)
    assert [(rank, link, what.strip(), bool(member)) for rank, link, what, member in rows] == [
        ("1", "/collection/", "page", True),
        ("2", "/collection/old-catalogue.html", "no page: http-404", False),
        ("3", "/collection/safety.html", "page", True),
        ("4", "/collection/index.html", "duplicate: duplicate-of /collection/", False),
        ("5", "/collection/print.html", "page", False),
        ("6", "/collection/tandem", "page, redirected to /collection/tandems.html", True),
    ]
    assert "3 pages that all link to each other, after 7 loads" in done.stdout
    assert re.search(r"\b\d\d% of its elements are template", done.stdout)
    content = done.stdout.partition("The rest:")[2]
    assert "Nobody who rode one called it a penny-farthing." in content
    assert "Workshops" not in content


@pytest.mark.crawl
def test_the_demo_takes_a_size(tmp_path: Path) -> None:
    done = run_scrapy("demo", "-n", "2", f"--report={tmp_path / 'r.html'}", folder=tmp_path)
    assert "2 pages that all link to each other, after 4 loads" in done.stdout
    assert run_scrapy("demo", "-n", "none", folder=tmp_path).code == 2


@pytest.mark.crawl
def test_other_commands_are_not_disturbed(tmp_path: Path) -> None:
    assert run_scrapy("list", folder=tmp_path).stdout == "template_candidates\ntemplate_strip\n"
    assert run_scrapy("crawl", "nobody", folder=tmp_path).code != 0
    assert run_scrapy("crawl", folder=tmp_path).code == 2


@pytest.mark.parametrize(
    "command",
    [archive, demo, report, shard, strip, text, ui],
    ids=lambda module: module.__name__,
)
def test_help_is_as_we_wrote_it(command: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrapy takes a line that ends in a colon for a heading, wherever the line was broken."""
    theirs, parser = (
        ScrapyArgumentParser(formatter_class=ScrapyHelpFormatter, conflict_handler="resolve")
        for _ in range(2)
    )
    for each, options in ((CrawlCommand(), theirs), (command.Command(), parser)):
        each.settings = Settings()
        each.add_options(options)
    ours = {action.help or "" for action in parser._actions}
    ours -= {action.help or "" for action in theirs._actions} | {SUPPRESS}
    assert ours
    for width in range(40, 130):
        monkeypatch.setenv("COLUMNS", str(width))
        shown = "".join(parser.format_help().split())
        assert [words for words in ours if "".join(words.split()) not in shown] == []


def test_commands_import_nothing_heavy() -> None:
    code = (
        "import sys, scrapy.cmdline; from scrapy.commands import crawl; before = {*sys.modules};"
        "from tplspider.commands import crawl, demo, report, shard, text, ui;"
        "print(*sorted({*sys.modules} - before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    ours = [name for name in done.stdout.split() if not name.startswith("tplspider.commands")]
    assert ours == ["tplspider"]


def test_the_algorithms_know_nothing_of_scrapy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import sys, tplspider; print('scrapy' in sys.modules)"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_public_names_exist() -> None:
    assert all(hasattr(tplspider, name) for name in tplspider.__all__)
    assert {*dir(tplspider)} >= {*tplspider.__all__, "__version__", "__doc__"}
    others = {*dir(tplspider)} - {*tplspider.__all__}
    assert [name for name in others if not re.fullmatch(r"__\w+__", name)] == []
    with pytest.raises(AttributeError, match="module 'tplspider' has no attribute 'nothing'"):
        tplspider.nothing  # noqa: B018 - it is not there


def test_the_spider_as_a_class() -> None:
    crawler = Crawler(TemplateCandidatesSpider)
    spider = TemplateCandidatesSpider.from_crawler(crawler, url="http://example.org/", n="4")
    assert spider.arguments.n == 4
    with pytest.raises(ValueError, match="unknown argument 'nn'"):
        TemplateCandidatesSpider.from_crawler(crawler, url="http://example.org/", nn="4")


def test_the_readme_starts_with_the_two_commands() -> None:
    readme = (PROJECT / "README.md").read_text("utf-8")
    commands = re.findall(r"^    (.+)$", readme, re.MULTILINE)
    assert commands[:2] == [
        "pip install -r requirements.txt && scrapy demo",
        "pip install -r requirements-dev.txt && pytest",
    ]

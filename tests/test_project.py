import re
import sys
from pathlib import Path

import pytest

import tplspider
from tests.support.crawls import run_command, run_scrapy


def test_the_demo_prints_the_answer(tmp_path: Path) -> None:
    report, settings = f"--report={tmp_path / 'r.html'}", {"LOG_LEVEL": "WARNING"}
    done = run_scrapy("demo", report, folder=tmp_path, settings=settings)
    assert (done.code, done.log) == (0, "")
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
def test_other_commands_are_not_disturbed(tmp_path: Path) -> None:
    assert run_scrapy("list", folder=tmp_path).stdout == "template_candidates\ntemplate_strip\n"
    assert run_scrapy("crawl", "nobody", folder=tmp_path).code != 0
    assert run_scrapy("crawl", folder=tmp_path).code == 2


def test_commands_import_nothing_heavy() -> None:
    code = (
        "import sys, scrapy.cmdline; from scrapy.commands import crawl; before = {*sys.modules};"
        "from tplspider.commands import candidates, crawl, demo, report, shard, text, ui;"
        "print(*sorted({*sys.modules} - before))"
    )
    done = run_command(sys.executable, "-c", code)
    ours = [name for name in done.stdout.split() if not name.startswith("tplspider.commands")]
    assert ours == ["tplspider", "tplspider.command"]


def test_public_names_exist() -> None:
    assert all(hasattr(tplspider, name) for name in tplspider.__all__)
    assert {*dir(tplspider)} >= {*tplspider.__all__, "__version__", "__doc__"}
    others = {*dir(tplspider)} - {*tplspider.__all__}
    assert [name for name in others if not re.fullmatch(r"__\w+__", name)] == []
    with pytest.raises(AttributeError, match="module 'tplspider' has no attribute 'nothing'"):
        tplspider.nothing  # noqa: B018 - it is not there

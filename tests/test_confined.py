from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from tplspider.arguments import Arguments
from tplspider.spiders.template_candidates import TemplateCandidatesSpider
from tplspider.spiders.template_strip import TemplateStripSpider

URL = "http://127.0.0.1/"
FILES = ("summary", "texts", "save_html", "report", "warc")
ENDINGS = {"report": "html", "warc": "warc.gz"}


@pytest.fixture
def feeds_dir(tmp_path: Path) -> Path:
    """The folder of a server, with links that lead out of it."""
    folder = tmp_path / "feeds"
    folder.mkdir()
    (tmp_path / "outside").mkdir()
    (folder / "out").symlink_to(tmp_path / "outside")
    for ending in ("json", "html", "warc.gz"):
        (folder / f"out.{ending}").symlink_to(tmp_path / "outside" / f"x.{ending}")
    (folder / "sub").mkdir()
    (folder / "in").symlink_to("sub")
    return folder


def fault(changes: dict[str, Any], **arguments: Any) -> str:
    """What is wrong with a job on a server."""
    settings = Settings()
    settings.setmodule("settings.scrapyd", "project")
    settings.setdict(changes, "cmdline")
    try:
        TemplateCandidatesSpider.check({"url": URL, **arguments}, settings)
    except ValueError as error:
        return str(error)
    return ""


def test_every_argument_that_names_a_file_is_known() -> None:
    """Whatever comes later that names a file or folder belongs to FILES, and is confined."""
    others = {"url", "n", "strategy", "scope", "max_loads", "max_seconds", "max_refusals"}
    others |= {"witness", "column"}
    assert {field.name for field in fields(Arguments)} - others == {*FILES, "urls"}


@pytest.mark.parametrize("argument", FILES)
def test_names_inside_the_folder_alone(feeds_dir: Path, argument: str) -> None:
    settings = {"TPLSPIDER_FEEDS_DIR": str(feeds_dir)}
    before = sorted(feeds_dir.parent.rglob("*"))
    ending = ENDINGS.get(argument, "json")
    for given in (
        *("../x.json", "sub/../../x.json", "sub/../x.json", "/etc/x.json", f"{feeds_dir}/x.json"),
        *(f"file://{feeds_dir}/x.json", "s3://b/s.json", "-:json", "out/x.json", "out.json"),
    ):
        name = given.replace("json", ending)
        line = fault(settings, **{argument: name})
        assert line.startswith(f"{argument}: "), name
        assert "TPLSPIDER_FEEDS_DIR" in line
    for given in ("x.json", "sub/y.json", "in/y.json"):
        assert fault(settings, **{argument: given.replace("json", ending)}) == ""
    assert sorted(feeds_dir.parent.rglob("*")) == before
    line = fault({"TPLSPIDER_FEEDS_DIR": ""}, **{argument: f"x.{ending}"})
    assert line.startswith(f"{argument}: ")
    assert "TPLSPIDER_FEEDS_DIR" in line


def test_lists_inside_the_folder_alone(feeds_dir: Path) -> None:
    (feeds_dir / "keys.txt").write_text(URL)
    (feeds_dir.parent / "keys.txt").write_text(URL)
    (feeds_dir.parent / "outside" / "keys.txt").write_text(URL)
    settings = {"TPLSPIDER_FEEDS_DIR": str(feeds_dir)}
    assert fault(settings, url="", urls="keys.txt") == ""
    for name in ("../keys.txt", "/etc/passwd", "out/keys.txt", f"file://{feeds_dir}/keys.txt"):
        assert fault(settings, url="", urls=name).startswith("urls: "), name


def test_no_files_of_the_server_are_stripped(feeds_dir: Path) -> None:
    settings = {"TPLSPIDER_CONFINE": True, "TPLSPIDER_FEEDS_DIR": str(feeds_dir)}
    with pytest.raises(ValueError, match="TPLSPIDER_CONFINE"):
        TemplateStripSpider.from_crawler(
            Crawler(TemplateStripSpider, settings), source=str(feeds_dir)
        )

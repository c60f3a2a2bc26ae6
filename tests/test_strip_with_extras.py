"""``scrapy strip`` with what is kept from one run to the next, and as Markdown."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from tests.support.crawls import run_scrapy
from tests.support.saved_folders import own_text, save, save_site
from tplspider.commands.strip import Command
from tplspider.old.crawl.strip.plan import plan_strip

pytest.importorskip("tplspider.pools.store", reason="pools cannot be saved yet")
pytest.importorskip("tplspider.template.markdown", reason="there is no Markdown yet")

SITE = ("--base-url", "https://example.org/")


def strip(*arguments: object) -> tuple[int, str]:
    done = run_scrapy("strip", *map(str, arguments), "--workers", "1", folder=Path())
    assert "Traceback" not in done.log
    return done.code, done.log


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


@pytest.mark.crawl
def test_pools_are_kept_from_one_folder_to_the_next(tmp_path: Path) -> None:
    save_site(tmp_path / "monday", 6)
    save(tmp_path / "tuesday" / "new.html", 77)
    pools, out = tmp_path / "pools", tmp_path / "rows.jl"
    for folder, evidence in (("tuesday", 0), ("monday", 3), ("tuesday", 3)):
        code, said = strip(tmp_path / folder, "-O", out, "--pool", pools, *SITE)
        assert code == 0, said
        assert {row["evidence"] for row in read(out)} == {evidence}
    (row,) = read(out)
    assert row["main_text"] == own_text(77)
    assert [path.name for path in pools.glob("*.pool")] == ["example.org.pool"]


@pytest.mark.crawl
def test_a_damaged_pool_is_built_anew(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 4)
    pools, out = tmp_path / "pools", tmp_path / "rows.jl"
    assert strip(folder, "-O", out, "--pool", pools, *SITE)[0] == 0
    first = out.read_bytes()
    (pools / "example.org.pool").write_bytes(b"\x80\x04what is this")
    code, said = strip(folder, "-O", out, "--pool", pools, *SITE)
    assert (code, said.count("example.org.pool")) == (0, 1), said
    assert out.read_bytes() == first
    assert strip(folder, "-O", out, "--pool", pools, *SITE) == (0, "4 files: 4 stripped\n")


@pytest.mark.crawl
def test_pools_inside_the_folder_are_not_pages(tmp_path: Path) -> None:
    folder = save_site(tmp_path / "site", 4)
    for _ in range(2):
        code, said = strip(folder, "-O", folder / "rows.jl", "--pool", folder / "pools", *SITE)
        assert (code, said) == (0, "4 files: 4 stripped\n")


@pytest.mark.crawl
def test_markdown(tmp_path: Path) -> None:
    pytest.importorskip("html_to_markdown")
    folder = save_site(tmp_path / "site", 4)
    page = folder / "page-1.html"
    marked = own_text(1).replace("friends", "<a href=/friends>friends</a>")
    page.write_text(page.read_text().replace(own_text(1), marked))
    assert strip(folder, "-O", tmp_path / "rows.jl", "--markdown", *SITE)[0] == 0
    row = read(tmp_path / "rows.jl")[1]
    assert [*row][-1] == "main_markdown"
    assert "[friends](https://example.org/friends)" in row["main_markdown"]
    assert "Menu" not in row["main_markdown"]


def test_without_the_package_it_is_said_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_site(tmp_path / "site", 2)
    monkeypatch.setitem(sys.modules, "html_to_markdown", None)
    command, parser = Command(), ArgumentParser()
    command.settings = Settings()
    command.add_options(parser)
    given, rest = parser.parse_known_args(
        [str(tmp_path / "site"), "-O", str(tmp_path / "rows.jl"), "--markdown"]
    )
    with pytest.raises(ValueError, match="--markdown: Markdown needs html-to-markdown: pip"):
        plan_strip(rest, given, command.settings)
    assert not (tmp_path / "rows.jl").exists()

"""What the README and docs/ say is so: links, commands, names and figures."""

from __future__ import annotations

import re
import shlex
from dataclasses import fields
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import pytest
from packaging.requirements import Requirement

from benchmarks.labelled_sites.catalogue import SITES
from tests.support.crawls import PROJECT
from tests.support.reference_tables import with_tables
from tests.support.requirement_lists import extras
from tplspider.arguments import OTHER_SETTINGS, Arguments, Config
from tplspider.items import CandidateSearch, PageTemplate, TemplateCandidate
from tplspider.profiles import profile_names

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *sorted((PROJECT / "docs").glob("*.md"))]
TEXTS = {page.relative_to(PROJECT).as_posix(): page.read_text("utf-8") for page in PAGES}
ALL = "\n".join(TEXTS.values())


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings get on the usual forges."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def table_of(page: str, heading: str) -> dict[str, str]:
    """The first table below a heading: what its first column names, and the row."""
    text = TEXTS[page].partition(f"\n{heading}\n")[2]
    lines = text[text.index("\n|") + 1 :].splitlines()
    rows = [line for line in lines[: next(i for i, x in enumerate(lines) if not x)] if "`" in line]
    return {name: row for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])}


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", TEXTS[page]):
        found = (PROJECT / page).parent / target if target else PROJECT / page
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found.read_text("utf-8")), (target, anchor)


def test_the_index_names_every_page() -> None:
    named = set(re.findall(r"\]\(([^)]+\.md)\)", TEXTS["docs/README.md"]))
    pages = {page.name for page in PAGES if page.parent.name == "docs"} - {"README.md"}
    assert named == pages | {"../README.md"}


def commands() -> list[str]:
    """Every command of the pages, in blocks and in the text."""
    found = re.findall(r"^    ([a-zA-Z_=]+ .+|scrapy .+)$", ALL, re.MULTILINE)
    found += re.findall(r"`((?:scrapy|python -m|pip|pytest) ?[^`]*)`", ALL)
    found += [
        line
        for block in re.findall(r"^```sh\n(.*?)^```", ALL, re.MULTILINE | re.DOTALL)
        for line in block.splitlines()
    ]
    return found


def test_commands_name_what_there_is() -> None:
    names = {module.name for module in iter_modules(import_module("tplspider.commands").__path__)}
    scrapy = {"startproject", "list", "fetch", "parse", "shell", "version"}
    seen = set()
    for command in commands():
        words = [word for word in shlex.split(command, comments=True) if word != "&&"]
        for at, word in enumerate(words):
            follower = words[at + 1] if at + 1 < len(words) else ""
            if word == "scrapy" and re.fullmatch(r"[a-z]\w*", follower):
                assert follower in names | scrapy, command
                seen.add(follower)
            elif word == "-r" and follower.endswith(".txt"):
                # Guides that start above the clone name its folder.
                assert (PROJECT / follower.removeprefix("tplspider/")).is_file(), command
            elif wanted := re.fullmatch(r"\.\[([a-z,]+)\]", word):
                assert {*wanted[1].split(",")} <= extras().keys(), command
            elif re.fullmatch(r"[a-z-]+>=[0-9.,<]+", word):
                assert Requirement(word) in set().union(*extras().values()), command
            elif word == "-m" and follower.startswith("benchmarks"):
                path = PROJECT / follower.replace(".", "/")
                assert path.with_suffix(".py").is_file() or (path / "__main__.py").is_file()
            elif word == "-a" and "=" in follower:
                assert follower.partition("=")[0] in Arguments.__dataclass_fields__, command
    assert seen >= names


@pytest.mark.parametrize("page", with_tables(), ids=lambda page: page.name)
def test_tables_are_those_of_the_code(page: Path) -> None:
    """``python -m tests.support.reference_tables`` writes them."""
    assert page.read_text("utf-8") == with_tables()[page]


def test_items_are_all_there() -> None:
    usage = TEXTS["docs/usage.md"]
    assert {field.name for field in fields(TemplateCandidate)} <= {
        *table_of("docs/usage.md", "## Items")
    }
    summary = usage.partition("`CandidateSearch`, one")[2].partition("`PageTemplate`")[0]
    for field in fields(CandidateSearch):
        assert f"`{field.name}`" in summary, field.name
    assert {field.name for field in fields(PageTemplate)} <= {
        *table_of("docs/usage.md", "## The text")
    }


def test_settings_are_those_that_there_are() -> None:
    names = [*(field.name.upper() for field in fields(Config)), *OTHER_SETTINGS]
    known = {f"TPLSPIDER_{name}" for name in names}
    assert {*re.findall(r"TPLSPIDER_[A-Z_]*[A-Z]", ALL)} <= known
    assert {*table_of("docs/settings.md", "## Profiles")} >= {*profile_names()}


def test_figures_of_the_corpus() -> None:
    assert f"\n{len(SITES)} small websites" in TEXTS["docs/evaluation.md"]
    assert not re.search(rf"\b(?!{len(SITES)}\b)\d+ small (?:web)?sites", ALL)

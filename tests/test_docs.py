"""What the README and docs/ say is so: links, commands and their output, names, tables."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from threading import Thread

import pytest
from packaging.requirements import Requirement

from benchmarks.labelled_sites.catalogue import SITES
from tests.support.crawls import PROJECT, run_command
from tests.support.reference_tables import PAGE, with_tables
from tests.support.requirement_lists import extras
from tplspider.arguments import OTHER_SETTINGS, Arguments, Config
from tplspider.items import CandidateSearch, ExploredLink, PageTemplate, TemplateCandidate
from tplspider.profiles import profile_names
from tplspider.search import cliques

PAGES = [PROJECT / "README.md", PROJECT / "CHANGELOG.md", *sorted((PROJECT / "docs").glob("*.md"))]
TEXTS = {page.relative_to(PROJECT).as_posix(): page.read_text("utf-8") for page in PAGES}
ALL = "\n".join(TEXTS.values())
BLOCK = r"((?:(?!```).*\n)*)```\n"  # the rest of a fenced block
RECIPES = re.findall(
    rf"^## (.+)\n(?:(?!## |```).*\n)*```sh\n{BLOCK}\n```text\n{BLOCK}",
    TEXTS["docs/recipes.md"],
    re.MULTILINE,
)


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings get on the usual forges."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", TEXTS)
def test_links_lead_somewhere(page: str) -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]*)(?:#([^)]+))?\)", TEXTS[page]):
        found = (PROJECT / page).parent / target if target else PROJECT / page
        assert found.exists(), target
        if anchor:
            assert anchor in anchors(found.read_text("utf-8")), (target, anchor)


def test_the_index_names_every_page() -> None:
    named = set(re.findall(r"\]\(([^)]+\.md)\)", TEXTS["docs/README.md"]))
    pages = {page.name for page in PAGES if page.parent == PROJECT / "docs"} - {"README.md"}
    assert named == pages | {"../README.md"}


def test_the_site_of_the_docs(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(tmp_path)]
    done = run_command(*command)
    assert done.code == 0, done.log
    assert {page.stem for page in (PROJECT / "docs").glob("[a-z]*.md")} <= {
        page.parent.name for page in tmp_path.glob("*/index.html")
    }


@pytest.fixture(scope="module")
def demo_site() -> Iterator[str]:
    """The website of the recipes, served as they say."""
    folder = str(PROJECT / "tplspider" / "demo" / "site")

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, *args: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=folder)) as server:
        Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_all_recipes_are_run() -> None:
    headings = re.findall(r"^## (.+)$", TEXTS["docs/recipes.md"], re.MULTILINE)
    assert [name for name, _, _ in RECIPES] == headings
    assert len(headings) == 10


@pytest.mark.crawl
@pytest.mark.parametrize(
    ("commands", "output"), [pytest.param(*recipe, id=name) for name, *recipe in RECIPES]
)
def test_recipes(commands: str, output: str, demo_site: str, tmp_path: Path) -> None:
    for part in ("tplspider", "settings", "scrapy.cfg"):
        (tmp_path / part).symlink_to(PROJECT / part)
    commands = commands.replace("http://127.0.0.1:8000", demo_site)
    commands = re.sub(
        r"^scrapy (\w+)", r"scrapy \1 -s DOWNLOAD_DELAY=0", commands, flags=re.MULTILINE
    )
    scripts = Path(sys.executable).parent
    env = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    done = run_command("bash", "-c", commands, folder=tmp_path, env=env, stdin=subprocess.DEVNULL)
    assert done.stdout.replace(demo_site, "http://127.0.0.1:8000") == output, done.log


@pytest.mark.crawl
def test_the_program_of_the_readme(demo_site: str, tmp_path: Path) -> None:
    blocks = re.findall(rf"^```python\n{BLOCK}", TEXTS["README.md"], re.MULTILINE)
    (program,) = (block for block in blocks if "get_text(" in block)
    page = f"{demo_site}/collection/tandems.html"
    program = program.replace('some/page"', 'some/page", allow_private=True')
    program = program.replace("https://example.org/some/page", page)
    done = run_command(sys.executable, "-c", program, folder=tmp_path)
    assert (done.code, done.log) == (0, "")
    assert done.stdout.startswith("Tandems Tandems\nRoom 3, eleven machines")


def commands() -> list[str]:
    """Every command of the pages, in blocks and in the text."""
    found = re.findall(r"^    ([a-zA-Z_=]+ .+|scrapy .+)$", ALL, re.MULTILINE)
    found += re.findall(r"`((?:scrapy|tplspider|python -m|pip|pytest) ?[^`]*)`", ALL)
    for block in re.findall(rf"^```sh\n{BLOCK}", ALL, re.MULTILINE):
        found += re.findall(r"^.*\b(?:scrapy|pip|python -m) .*$", block, re.MULTILINE)
    return found


def test_commands_name_what_there_is() -> None:
    names = {module.name for module in iter_modules(import_module("tplspider.commands").__path__)}
    scrapy = {"startproject", "runspider", "list", "fetch", "parse", "shell", "version"}
    seen = set()
    for command in commands():
        words = [word for word in shlex.split(command, comments=True) if word != "&&"]
        for at, word in enumerate(words):
            follower = words[at + 1] if at + 1 < len(words) else ""
            if word in ("scrapy", "tplspider") and re.fullmatch(r"[a-z]\w*", follower):
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


def test_tables_are_those_of_the_code() -> None:
    """``python -m tests.support.reference_tables`` writes them."""
    assert PAGE.read_text("utf-8") == with_tables()


def names_in(table: str) -> list[str]:
    """What the first column of a table in the reference names, by a heading or a header above."""
    rows = TEXTS["docs/reference.md"].partition(f"\n{table}")[2].partition("\n|---|---|\n")[2]
    cells = [row.split("|")[1] for row in rows.partition("\n\n")[0].splitlines()]
    return [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]


def test_items_and_their_fields() -> None:
    for item in (TemplateCandidate, CandidateSearch, PageTemplate):
        own = [field.name for field in fields(item)]
        assert sorted(names_in(f"### {item.__name__}\n")) == sorted(own)
    assert sorted(names_in("| field of `explored`")) == sorted(ExploredLink.__annotations__)


def test_reasons_and_profiles() -> None:
    names = "COMPLETE LINKS_EXHAUSTED MAX_LOADS MAX_SECONDS CANCELLED REFUSED POOL".split()
    ends = {getattr(cliques, name) for name in ("KEY_PAGE_UNUSABLE", *names)}
    assert ends <= {*names_in("| reason |")}
    assert {*names_in("### Profiles\n")} == {*profile_names()}


def test_settings_are_those_that_there_are() -> None:
    names = [*(field.name.upper() for field in fields(Config)), *OTHER_SETTINGS]
    known = {f"TPLSPIDER_{name}" for name in names}
    assert {*re.findall(r"TPLSPIDER_[A-Z_]*[A-Z]", ALL)} <= known


def test_figures_of_the_corpus() -> None:
    assert f"\n{len(SITES)} small websites" in TEXTS["docs/evaluation.md"]
    assert not re.search(rf"\b(?!{len(SITES)}\b)\d+ small (?:web)?sites", ALL)

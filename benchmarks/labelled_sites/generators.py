"""Sites as sources for MkDocs, Sphinx and Pelican, and the commands that build them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.labelled_sites import messy
from benchmarks.labelled_sites.marks import TITLE, UNTITLED, Variant
from benchmarks.labelled_sites.markup import markdown, relative_source, rst

if TYPE_CHECKING:
    from benchmarks.labelled_sites.plan import Page, Plan

HERE = Path(__file__).resolve().parent
FIXED = {"SOURCE_DATE_EPOCH": "1600000000", "PYTHONHASHSEED": "0", "TZ": "UTC", "LC_ALL": "C.UTF-8"}
NO_HIDDEN = {"sphinx_nefertiti"}  # themes whose menus have no hidden entries
SIDEBARS = {"**": ["globaltoc.html", "localtoc.html", "relations.html", "searchbox.html"]}


def run(module: str, *arguments: str | Path, folder: Path) -> None:
    """Run a generator; what it says is shown if it fails."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(  # noqa: S603 - our own command
        command, cwd=folder, env=os.environ | FIXED, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{module} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


def write(file: Path, text: str) -> None:
    """Write a source file, and the folders it lies in."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")


def key_page(plan: Plan) -> Page | None:
    """The key page, unless it is a listing."""
    return next((page for page in plan.pages if page.source == plan.key), None)


def _front_matter(page: Page) -> str:
    return f"---\ndescription: {json.dumps(page.description)}\n---\n\n" if page.description else ""


def mkdocs(plan: Plan, folder: Path) -> tuple[Path, str]:
    """Build with MkDocs; the document root and the key page's file in it."""
    for page in plan.pages:
        text = markdown(page, partial(relative_source, page, suffix=".md"))
        write(folder / f"docs/{page.source}.md", f"{_front_matter(page)}# {page.title}\n\n{text}")
    nav: list[dict[str, Any]] = [{"Home": "index.md"}]
    for source, label in plan.menu():
        pages = plan.of(source.rpartition("/")[0]) if "/" in source else []
        entries = [{plan.labels[page.source]: f"{page.source}.md"} for page in pages]
        nav.append({label: entries or f"{source}.md"})
    key = key_page(plan)
    assert key

    def address(source: str, target: str) -> str:
        return os.path.relpath(target, source) + "/"

    related = {f"{source}.md": html for source, html in messy.related(plan, address).items()}
    settings = {
        "site_name": "The Python Notebook",
        "site_url": "https://notebook.example/",
        "copyright": "2020, the authors",
        "nav": nav,
        "hooks": [str(HERE / "mkdocs_hook.py")],
        "markdown_extensions": ["tables", "fenced_code"],
        "extra": {
            "labelled": {
                "key": f"{plan.key}.md",
                "title": key.title,
                "variant": plan.variant.value,
                "related": related,
            }
        },
    } | plan.spec.settings
    settings["theme"] = {"name": plan.spec.theme} | plan.spec.settings.get("theme", {})
    write(folder / "mkdocs.yml", json.dumps(settings))  # JSON is YAML
    run("mkdocs", "build", "--quiet", "--site-dir", folder / "site", folder=folder)
    return folder / "site", f"{plan.key.removesuffix('index').rstrip('/')}/index.html"


def _toctree(entries: list[tuple[str, str]], *, shown: bool) -> str:
    lines = "".join(f"   {label} <{source}>\n" for source, label in entries)
    hidden = "" if shown else "   :hidden:\n"
    return f".. toctree::\n{hidden}\n{lines}"


def sphinx(plan: Plan, folder: Path) -> tuple[Path, str]:
    """Build with Sphinx; the document root and the key page's file in it."""
    for page in plan.pages:
        description = f".. meta::\n   :description: {page.description}\n\n"
        toctree = ""
        if page.slug == "index":
            pages = plan.of(page.section) if page.section else []
            entries = [(f"/{other.source}", plan.labels[other.source]) for other in pages[1:]]
            toctree = _toctree(entries or plan.menu(), shown=plan.spec.theme in NO_HIDDEN)
        text = (description if page.description else "") + rst(page, toctree)
        write(folder / f"source/{page.source}.rst", text)
    related = messy.related(
        plan, lambda source, target: os.path.relpath(target, Path(source).parent) + ".html"
    )
    settings = {
        "project": "The Python Notebook",
        "copyright": "2020, the authors",
        "release": "1.0",
        "html_theme": plan.spec.theme,
        "html_copy_source": False,
        "html_last_updated_fmt": "",
        "extensions": ["sphinx_hook"],
        "labelled": {"key": plan.key, "variant": plan.variant.value, "related": related},
    } | plan.spec.settings
    lines = [f"{name} = {value!r}" for name, value in settings.items()]
    write(
        folder / "source/conf.py",
        "\n".join(["import sys", f"sys.path.append({str(HERE)!r})", *lines]),
    )
    run("sphinx", "-q", "-b", "html", folder / "source", folder / "site", folder=folder)
    return folder / "site", f"{plan.key}.html"


def pelican(plan: Plan, folder: Path) -> tuple[Path, str]:
    """Build a blog with Pelican; the document root and the key page's file in it."""
    listing = plan.spec.key == "listing"
    for page in plan.pages:
        if page.slug == "index":
            continue
        meta = {
            "Title": page.title,
            "Slug": page.slug,
            "Date": page.date,
            "Category": page.category,
            "Section": page.section,
            "Tags": ", ".join(page.tags),
            "Summary": page.description,
        }
        if listing:
            meta["Category"] = next((of for slug, of in plan.sections if slug == page.section), "")
        head = "".join(f"{name}: {value}\n" for name, value in meta.items() if value)
        where = "content" if page.section else "content/pages"
        text = markdown(
            page,
            lambda target: target if target.startswith("/") else f"{{filename}}/{target}.md",
        )
        write(folder / f"{where}/{page.source}.md", f"{head}\n{text}")
    items = [
        (label, f"/{'category' if '/' in source else 'pages'}/{source.removesuffix('/index')}.html")
        for source, label in plan.menu()
    ]
    name = dict(plan.sections).get(plan.key, "")
    title = {Variant.MARKED: f"{TITLE} {name}", Variant.EMPTY: UNTITLED}.get(plan.variant, "")
    related = messy.related(plan, lambda _, target: f"/posts/{target}.html")
    settings = {
        "SITENAME": "The Python Notebook",
        "SITEURL": "",
        "AUTHOR": "The authors",
        "TIMEZONE": "UTC",
        "PATH": "content",
        "THEME": plan.spec.theme,
        "DEFAULT_DATE_FORMAT": "%Y-%m-%d",
        "DEFAULT_PAGINATION": 6,
        "ARTICLE_URL": "posts/{section}/{slug}.html",
        "ARTICLE_SAVE_AS": "posts/{section}/{slug}.html",
        "FEED_ALL_ATOM": None,
        "CATEGORY_FEED_ATOM": None,
        "DISPLAY_CATEGORIES_ON_MENU": False,
        "DISPLAY_PAGES_ON_MENU": False,
        "MENUITEMS": items,
        "LINKS": [("Python", "https://www.python.org/"), ("Pelican", "https://getpelican.com/")],
        "PLUGIN_PATHS": [str(HERE)],
        "PLUGINS": ["pelican_hook"],
        "LABELLED": {
            "variant": plan.variant.value,
            "listing": plan.key if listing else "",
            "title": title,
            "related": related,
        },
    } | plan.spec.settings
    lines = [f"{name} = {value!r}" for name, value in settings.items()]
    write(folder / "pelicanconf.py", "\n".join(lines))
    run("pelican", "-q", "-s", "pelicanconf.py", "-o", folder / "site", folder=folder)
    return folder / "site", f"category/{plan.key}.html" if listing else f"posts/{plan.key}.html"

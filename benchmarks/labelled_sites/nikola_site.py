"""Blogs as sources for Nikola, and the command that builds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.labelled_sites import messy
from benchmarks.labelled_sites.generators import HERE, run, write
from benchmarks.labelled_sites.markup import markdown

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.labelled_sites.plan import Page, Plan


def _address(target: str) -> str:
    """The address of a post, or of what has one already."""
    return target if target.startswith("/") else f"/posts/{target}/"


def _source(page: Page, related: str) -> str:
    """A post as Nikola reads it."""
    meta = {
        "title": page.title,
        "slug": page.slug,
        "date": f"{page.date} 12:00:00 UTC",
        "category": page.category,
        "tags": ", ".join(page.tags),
        "description": page.description,
    }
    head = "".join(f".. {name}: {value}\n" for name, value in meta.items())
    return f"{head}\n{markdown(page, _address)}\n{related}\n"


def nikola(plan: Plan, folder: Path) -> tuple[Path, str]:
    """Build a blog with Nikola; the document root and the key page's file in it."""
    related = messy.related(plan, lambda _, target: _address(target))
    for page in plan.pages:
        if page.slug != "index":
            where = "posts" if page.section else "pages"
            write(folder / f"{where}/{page.source}.md", _source(page, related.get(page.source, "")))
    items = tuple(
        (
            f"/categories/cat_{source.removesuffix('/index')}/" if "/" in source else f"/{source}/",
            label,
        )
        for source, label in plan.menu()
    )
    settings = {
        "BLOG_TITLE": "The Python Notebook",
        "BLOG_AUTHOR": "The authors",
        "BLOG_DESCRIPTION": "Notes on Python",
        "SITE_URL": "https://notebook.example/",
        "TIMEZONE": "UTC",
        "THEME": plan.spec.theme,
        "NAVIGATION_LINKS": {"en": items},
        "POSTS": (("posts/*.md", "posts", "post.tmpl"),),
        "PAGES": (("pages/*.md", "", "page.tmpl"),),
        "COMPILERS": {"markdown": [".md"]},
        "MARKDOWN_EXTENSIONS": ["tables", "fenced_code"],
        "INDEX_DISPLAY_POST_COUNT": 6,
        "CONTENT_FOOTER": "2020, the authors. Made with Nikola",
        "COMMENT_SYSTEM": "",
        "GENERATE_RSS": False,
        "SHOW_SOURCELINK": False,
        "COPY_SOURCES": False,
    } | plan.spec.settings
    key = f"posts/{plan.key}.md"
    lines = [f"{name} = {value!r}" for name, value in settings.items()]
    lines += ["import sys", f"sys.path.append({str(HERE)!r})", "from nikola_hook import alone"]
    lines.append(f"GLOBAL_CONTEXT_FILLER = [alone({key!r}, {plan.variant.value!r})]")
    write(folder / "conf.py", "\n".join(lines))
    run("nikola", "build", folder=folder)
    return folder / "output", f"posts/{plan.key}/index.html"

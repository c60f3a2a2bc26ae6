"""What makes a site messy on purpose: added to every page alike, or as lists that vary by page."""

from __future__ import annotations

import re
from html import escape
from random import Random
from typing import TYPE_CHECKING

from benchmarks.labelled_sites.marks import META, Variant
from benchmarks.labelled_sites.plan import LANDING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from benchmarks.labelled_sites.plan import Plan

LANGUAGES = {"de": "Deutsch", "fr": "Français", "es": "Español"}
PAGE = """<!DOCTYPE html>
<html lang="{lang}"><head><meta charset="utf-8"><title>{title}</title></head>
<body><h1>{title}</h1>{text}<p><a href="/">The Python Notebook</a></p></body></html>
"""


def related(plan: Plan, address: Callable[[str, str], str]) -> dict[str, str]:
    """A list of related pages for each page that has one, as HTML; *address* leads there."""
    if "related" not in plan.spec.messy:
        return {}
    found = {}
    for page in plan.pages:
        own = page.source == plan.key and plan.variant is Variant.MARKED
        mark = f"{META} " if own else ""
        links = ((address(page.source, other), plan.labels[other]) for other in page.related)
        items = "".join(
            f'<li><a href="{href}">{mark}{escape(name)}</a></li>' for href, name in links
        )
        if items:
            head = f"<h4>{mark}You may also like</h4>"
            found[page.source] = f'<aside class="related-pages">{head}<ul>{items}</ul></aside>'
    return found


def farm(addresses: list[str], seed: int) -> str:
    """Links for the foot of every page: one page under several addresses, and files."""
    random = Random(seed)
    chosen = random.sample(addresses, min(len(addresses), 12))
    links = []
    for address in chosen:
        name = address.strip("/").removesuffix(".html").rpartition("/")[2].replace("-", " ")
        links += [(address, name), (f"{address}?ref=footer", f"{name} again")]
        if random.random() < 0.4:
            links.append((f"/files/{name.replace(' ', '-')}.pdf", f"{name} (PDF)"))
    links += [(f"/?utm_source=farm&utm_term={i}", f"offer {i}") for i in range(3)]
    links.append(("/files/everything.zip", "everything (ZIP)"))
    items = "".join(f'<li><a href="{escape(href)}">{name}</a></li>' for href, name in links)
    return f'<div class="link-farm"><ul>{items}</ul></div>'


def switcher(address: str) -> str:
    """Links to the same page in other languages."""
    links = [f'<li><a href="/{code}/">{name}</a></li>' for code, name in LANGUAGES.items()]
    links += [f'<li><a href="{address}?lang={code}">{code}</a></li>' for code in LANGUAGES]
    return f'<ul class="languages">{"".join(links)}</ul>'


def insert_before(html: str, tags: tuple[str, ...], piece: str) -> str:
    """The page with a piece before the last of the first tag that it has."""
    for tag in tags:
        at = html.rfind(tag)
        if at >= 0:
            return html[:at] + piece + html[at:]
    return html + piece


def address_of(root: Path, file: Path) -> str:
    """The address of a file, as an absolute path."""
    return "/" + file.relative_to(root).as_posix().removesuffix("index.html")


def name_of(file: Path) -> str:
    """The last part of a file's address."""
    return file.parent.name if file.stem == "index" else file.stem


def decorate(plan: Plan, root: Path) -> None:
    """Add what the site is to have to all pages of a build, and the pages without the menu."""
    messy = plan.spec.messy
    files = sorted(root.rglob("*.html"))
    # The same in all variants: the address of a page does not depend on what it says.
    names = {name for page in plan.pages for name in (page.section, page.slug)} - {"", "index"}
    known = [address_of(root, file) for file in files if name_of(file) in names]
    foot = farm(known, plan.spec.seed) if "farm" in messy else ""
    for file in files:
        html = file.read_text("utf-8")
        html = insert_before(html, ("</footer>", "</body>"), foot) if foot else html
        if "langs" in messy:
            top = switcher(address_of(root, file))
            html = re.sub(r"(<body[^>]*>)", rf"\1{top}", html, count=1)
        file.write_text(html, "utf-8")
    extra = {f"{code}/index.html": code for code in LANGUAGES} if "langs" in messy else {}
    if "nomenu" in messy:
        extra |= {LANDING.lstrip("/"): "en", "offers/index.html": "en"}
    about = next(page for page in plan.pages if page.slug == "about")
    text = "".join(f"<p>{escape(line)}</p>" for block in about.blocks for line in block.lines)
    for name, lang in extra.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        title = LANGUAGES.get(lang, "A course")
        (root / name).write_text(PAGE.format(lang=lang, title=title, text=text), "utf-8")

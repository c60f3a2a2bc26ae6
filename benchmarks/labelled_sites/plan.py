"""What a site has: its sections, its pages, and which of them is the key page."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from random import Random
from typing import TYPE_CHECKING, Any, Literal

from benchmarks.labelled_sites.marks import Variant, as_variant, menu_entries
from benchmarks.labelled_sites.prose import Article, Block, articles, plain, tables

if TYPE_CHECKING:
    from collections.abc import Sequence

SECTIONS = tuple("Basics Objects Statements Practice Reference Internals".split())
TAGS = tuple("syntax runtime numbers text names modules advanced beginners".split())
LANDING = "/offers/course.html"  # a page without the menu, see messy.py


@dataclass(frozen=True)
class Spec:
    """A site to build."""

    name: str
    generator: Literal["mkdocs", "sphinx", "pelican", "nikola"]
    theme: str
    seed: int
    key: Literal["article", "section", "listing"] = "article"
    messy: tuple[str, ...] = ()  # of farm, langs, nomenu, related
    sections: int = 4
    pages: int = 26  # articles in the sections
    settings: dict[str, Any] = field(default_factory=dict)  # of the generator


@dataclass(frozen=True)
class Page:
    """A page, or a post of a blog."""

    section: str  # "" at the top
    slug: str
    title: str
    blocks: tuple[Block, ...]
    description: str = ""
    category: str = ""
    date: str = ""
    tags: tuple[str, ...] = ()
    related: tuple[str, ...] = ()

    @property
    def source(self) -> str:
        """Its place in the sources, without the suffix."""
        return f"{self.section}/{self.slug}" if self.section else self.slug


@dataclass(frozen=True)
class Plan:
    """The pages of a site as one of its variants has them."""

    spec: Spec
    variant: Variant
    pages: tuple[Page, ...]
    key: str  # the key page's source; the section's, where a listing is the key page
    sections: tuple[tuple[str, str], ...]  # slug and label
    labels: dict[str, str]  # of pages in menus: their titles, whatever the variant

    def of(self, section: str) -> list[Page]:
        """The pages of a section, its index first."""
        return [page for page in self.pages if page.section == section]

    def menu(self) -> list[tuple[str, str]]:
        """The main menu: sources of pages and labels, where the variant says so marked."""
        targets = [f"{slug}/index" for slug, _ in self.sections] + ["about", "contact"]
        texts = [label for _, label in self.sections] + ["About", "Contact"]
        return list(zip(targets, menu_entries(texts, self.variant), strict=True))

    def as_variant(self, variant: Variant) -> Plan:
        """The plan with the key page's own data as the variant has it."""

        def is_own(page: Page) -> bool:
            if self.spec.key == "listing":
                return page.section == self.key and page.slug != "index"
            return page.source == self.key

        pages = tuple(as_variant(page, variant) if is_own(page) else page for page in self.pages)
        return replace(self, variant=variant, pages=pages)


def slug_of(title: str) -> str:
    """The title as a part of an address."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def _body(article: Article, random: Random, others: Sequence[Page], spec: Spec) -> list[Block]:
    """The blocks of an article, cut to some length, with links and perhaps a table."""
    blocks = list(article.blocks[: random.randint(6, 45)])
    while len(blocks) > 1 and blocks[-1].kind == "heading":
        blocks.pop()
    if random.random() < 0.4:
        blocks.append(random.choice(tables()))
    for other in random.sample(others, min(len(others), random.randint(0, 3))):
        link = Block("link", (f"More on this: {other.title}",), target=other.source)
        blocks.insert(random.randint(1, len(blocks)), link)
    if "nomenu" in spec.messy:
        blocks.insert(1, Block("link", ("A course on this subject",), target=LANDING))
    return blocks


def _opening(article: Article) -> str:
    """The first sentence or so, as a description."""
    texts = (block.lines[0] for block in article.blocks if block.kind == "paragraph")
    return plain(next(texts, article.title))[:120].strip()


def _section_index(slug: str, label: str, pages: list[Page], text: tuple[Block, ...]) -> Page:
    """The index page of a section: some words, and what it has."""
    links = [Block("link", (page.title,), target=page.source) for page in pages]
    heading = Block("heading", (f"Pages on {label.lower()}",), level=2)
    blocks = (*(block for block in text if block.kind == "paragraph"), heading, *links)
    return Page(slug, "index", label, blocks, description=f"All about {label.lower()}")


def make_plan(spec: Spec) -> Plan:
    """The clean variant of a site."""
    random = Random(spec.seed)
    chosen = random.sample(articles(), spec.pages + 3)
    sections = tuple((label.lower(), label) for label in random.sample(SECTIONS, spec.sections))
    posts = [
        Page(
            *(sections[i % len(sections)][0], slug_of(article.title), article.title, ()),
            description=_opening(article),
            category=sections[i % len(sections)][1],
            date=(date(2020, 1, 6) + timedelta(days=17 * i)).isoformat(),
            tags=tuple(random.sample(TAGS, 2)),
        )
        for i, article in enumerate(chosen[3:])
    ]
    full = []
    for post, article in zip(posts, chosen[3:], strict=True):
        others = [other for other in posts if other is not post]
        related = tuple(other.source for other in random.sample(others, 4))
        blocks = tuple(_body(article, random, others, spec))
        full.append(replace(post, blocks=blocks, related=related))
    pages = [
        Page("", slug, title, article.blocks[:8], description=_opening(article), date="2020-01-01")
        for slug, title, article in zip(
            ("index", "about", "contact"), ("Welcome", "About", "Contact"), chosen, strict=False
        )
    ]
    for slug, label in sections:
        of_section = [post for post in full if post.section == slug]
        text = random.choice(of_section).blocks[:5]
        pages += [_section_index(slug, label, of_section, text), *of_section]
    post = random.choice([post for post in full if len(post.blocks) >= 8] or full)
    keys = {"article": post.source, "section": f"{post.section}/index", "listing": post.section}
    labels = {page.source: page.title for page in pages}
    return Plan(spec, Variant.CLEAN, tuple(pages), keys[spec.key], sections, labels)

"""A plugin that Pelican loads: related posts, and the listing that is the key page."""

from __future__ import annotations

import importlib
from typing import Any


def prepare(generator: Any) -> None:
    """Name the key page's listing and empty it, as the variant wants; add related posts."""
    own = generator.settings["LABELLED"]
    for i, (category, posts) in enumerate(generator.categories):
        if category.slug == own["listing"]:
            category.slug = own["listing"]  # so that it stays, whatever the name
            category.name = own["title"] or category.name
            generator.categories[i] = (category, [] if own["variant"] == "empty" else posts)
    for post in generator.articles:
        if related := own["related"].get(f"{post.section}/{post.slug}"):
            post._content += related  # noqa: SLF001 - what Pelican's own plugins change


def register() -> None:
    """Register with Pelican."""
    signals = importlib.import_module("pelican.plugins.signals")
    signals.article_generator_finalized.connect(prepare)

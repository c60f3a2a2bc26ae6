"""An extension that Sphinx loads: the key page's neighbours, as the variant has them."""

from __future__ import annotations

from typing import Any

NEIGHBOURS = {"N", "P"}  # the access keys of "next" and "previous"


def prepare(app: Any, page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Add the list of related pages; mark the neighbours of the key page, or take them away."""
    own = app.config.labelled
    if page in own["related"]:
        context["body"] += own["related"][page]
    if page != own["key"] or own["variant"] == "clean":
        return
    links = context.get("rellinks", [])
    if own["variant"] == "empty":
        context["prev"] = context["next"] = None
        context["rellinks"] = [link for link in links if link[2] not in NEIGHBOURS]
        return
    for name in ("prev", "next"):
        if context.get(name):
            context[name] = context[name] | {"title": f"Zqmeta {context[name]['title']}"}
    context["rellinks"] = [
        (link[0], f"Zqmeta {link[1]}", *link[2:]) if link[2] in NEIGHBOURS else link
        for link in links
    ]


def setup(app: Any) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_config_value("labelled", {}, "")
    app.connect("html-page-context", prepare, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Modules that have moved, found by their old names: settings of a project may name our classes so.

``EXTENSIONS = {"tplspider.extension.CliqueTracker": None}`` goes on turning the tracker off.
"""

from __future__ import annotations

from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

MOVED = {
    "tplspider.address_guard": "tplspider.crawl.private_network.address_guard",
    "tplspider.browser": "tplspider.crawl.browser.middleware",
    "tplspider.credentials": "tplspider.crawl.credentials",
    "tplspider.download_handler": "tplspider.crawl.download_handler",
    "tplspider.extension": "tplspider.crawl.tracker",
    "tplspider.feeds": "tplspider.crawl.outputs.feeds",
    "tplspider.harmless_log": "tplspider.crawl.harmless_log",
    "tplspider.pipelines": "tplspider.crawl.pipelines",
    "tplspider.politeness": "tplspider.crawl.politeness",
    "tplspider.redirects": "tplspider.crawl.redirects",
    "tplspider.robots": "tplspider.crawl.robots",
    "tplspider.under_way": "tplspider.crawl.under_way",
    "tplspider.user_agent": "tplspider.crawl.user_agent",
}


class MovedModules(MetaPathFinder, Loader):
    """Gives the module at its new place to whoever imports it by its old name."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002 - what Python gives
        target: ModuleType | None = None,  # noqa: ARG002 - likewise
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = import_module(MOVED[spec.name])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It was executed under its new name, which it keeps."""
        if module.__spec__:
            module.__spec__ = module.__spec__.loader_state

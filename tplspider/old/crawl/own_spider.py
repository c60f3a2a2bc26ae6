"""Whether a spider is ours, found out without importing ours, which would cost others time."""

from __future__ import annotations

import sys

_MODULE = "tplspider.spiders.template_candidates"


def is_ours(spider_class: type) -> bool:
    """Whether this is our spider, or derived from it."""
    module = sys.modules.get(_MODULE)  # imported already if any class is derived from ours
    return module is not None and issubclass(spider_class, module.TemplateCandidatesSpider)

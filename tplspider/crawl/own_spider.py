"""Whether a spider is ours, told without importing ours, for which others need not wait."""

from __future__ import annotations

import sys

_MODULE = "tplspider.spiders.template_candidates"


def is_ours(spider_class: type) -> bool:
    """Whether this is our spider, or derived from it."""
    module = sys.modules.get(_MODULE)  # it is there when a class is derived from one of it
    return module is not None and issubclass(spider_class, module.TemplateCandidatesSpider)

"""The spider as it would be with a defect whose error message quotes the page."""

from __future__ import annotations

from typing import Any

from tplspider.spiders.template_candidates import TemplateCandidatesSpider


class EchoingSpider(TemplateCandidatesSpider):
    """Fails on pages with ``stumble`` in their address."""

    def _read(self, response: Any) -> Any:
        if "stumble" in response.url:
            raise RuntimeError(response.text)
        return super()._read(response)

"""Where the addresses of a page lead: what was found out for other pages changes nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tplspider.web.html import Addresses, Targets, parse_html

ROOT = parse_html("<body></body>")
BASES = st.sampled_from(
    [
        "http://example.org",
        "http://example.org/",
        "http://example.com/",
        "http://example.org/docs/",
        "http://example.org/docs/key.html",
        "http://example.org/docs/other.html",
        "http://example.org/docs/key.html?a=/b/c",
        "http://example.org/docs/key.html;v=1/2",
        "http://example.org/docs/deep/key",
        "https://example.org/docs/key.html",
        "file:///docs/key.html",
        "file:///docs/other.html",
    ]
)
_PARTS = ["a", "b.html", "/", "//", ".", "..", "?", "q=1", ";", ":", "http:", "https://", "mailto:"]
_PARTS += ["example.org", "%20", "é", "\t", "\x01", " ", "~", "-", "\\"]
ADDRESSES = st.lists(st.sampled_from(_PARTS), min_size=1, max_size=4).map("".join)


@given(st.lists(st.tuples(BASES, ADDRESSES | st.text(max_size=6)), min_size=1, max_size=12))
def test_addresses_that_pages_share_lead_where_they_lead_by_themselves(
    links: list[tuple[str, str]],
) -> None:
    known: Addresses = {}
    addresses = [address for _, address in links]
    for base, _ in links:
        shared, alone = Targets(ROOT, base, known), Targets(ROOT, base)
        for address in addresses:
            assert shared.of(address) == alone.of(address)
    size = len(known)
    for base, address in links:
        Targets(ROOT, base, known).of(address)
    assert len(known) == size

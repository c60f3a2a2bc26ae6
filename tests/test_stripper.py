"""What a stripper keeps ready of which sites."""

from __future__ import annotations

from tplspider.pools.pool import PooledPage
from tplspider.pools.site_templates import FEW_SITES, SITES, Stripper


def ready_after(stripper: Stripper, *sites: int) -> int:
    """Of how many sites pages are kept ready, after a page of each of these."""
    for site in sites:
        name = f"site{site}.org"
        pages = [PooledPage.of(f"http://{name}/{n}", f"<p>Words of {n}") for n in range(2)]
        found = stripper.strip(name, pages[0], pages, wanted=frozenset({"main_text"}))
        assert found.key_url == pages[0].url
    return len(stripper._sites)


def test_pages_are_kept_ready_where_that_is_of_use() -> None:
    stripper = Stripper()
    assert ready_after(stripper, *range(SITES), *range(SITES)) == SITES
    assert ready_after(stripper, *range(SITES, 2 * SITES)) == SITES  # one after the other
    # So many in turn that none is met again before it goes ...
    assert ready_after(stripper, *range(SITES + 1), *range(SITES + 1)) == FEW_SITES
    # ... until some are.
    assert ready_after(stripper, *range(20), *range(20), *range(20)) == 20

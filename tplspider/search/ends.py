"""Why a search ends, in the words that users read: the reason of its summary, and of the crawl."""

COMPLETE = "complete_subdigraph"
LINKS_EXHAUSTED = "links_exhausted"
MAX_LOADS = "max_loads"
MAX_SECONDS = "max_seconds"
CANCELLED = "cancelled"
KEY_PAGE_UNUSABLE = "key_page_unusable"
POOL = "pool"  # a saved pool of the site has told what a search was to find out

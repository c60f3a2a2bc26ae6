"""Many key pages in one crawl: their list, their places, and what is kept of them."""

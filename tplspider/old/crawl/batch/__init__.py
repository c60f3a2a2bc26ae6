"""Many key pages in one crawl."""

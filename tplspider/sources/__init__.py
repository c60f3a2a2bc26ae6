"""Pages that come from somewhere else than a crawl: a folder, memory; and pages that were kept."""

"""The archive that a crawl writes: a WARC file with all that its searches have loaded."""

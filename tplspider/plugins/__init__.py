"""What stands beside the crawl: each plugin needs an extra of its own."""

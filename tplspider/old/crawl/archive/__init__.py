"""What ``scrapy archive`` is told and tells: options, key pages, outputs, the exit status."""

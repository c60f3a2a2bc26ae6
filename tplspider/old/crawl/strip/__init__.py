"""What ``scrapy strip`` is told and tells: options, progress, the output, the exit status."""

"""Commands of the project, beside Scrapy's own."""

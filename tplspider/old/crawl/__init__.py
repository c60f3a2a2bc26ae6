"""The search as a crawl: all that knows Scrapy, but the spider, the add-on and the commands."""

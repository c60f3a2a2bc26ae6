"""The page of ``scrapy ui``: a server on loopback, and the list of searches that it keeps.

The searches are made by a process of its own (tplspider/old/crawl/ui); nothing here knows Scrapy.
"""

"""The page of ``scrapy ui``: a server on loopback, and the list of searches that it keeps.

The server is an aiohttp application (app, access), run by server in the event loop of one crawl,
which makes the searches. searches follows that crawl, and store keeps what it finds.
"""

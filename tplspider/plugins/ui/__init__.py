"""The page of ``scrapy ui``: a server on loopback, and the list of searches that it keeps.

The server is an aiohttp application (app, access), run by server. A child process makes the
searches (worker); searches follows it, and store keeps what it finds.
"""

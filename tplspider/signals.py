"""Signals that the spider sends, beside Scrapy's own, for extensions that follow a search.

``search_started(spider, search, links, unparsable)``: the key page was read and has that many
links; that many more addresses on it could not be parsed.

``link_settled(spider, search, visit)``: the search has taken a link into account.

``search_ended(spider, summary)``: the search is over; the items follow, *summary* the last.
"""

search_started = object()
link_settled = object()
search_ended = object()

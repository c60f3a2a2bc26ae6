"""Signals that the spider sends, beside Scrapy's own, for extensions that follow a search.

``search_opened(spider, session)``: a key page is going to be requested.

``search_started(spider, session, search, links, unparsable)``: the key page was read and has that
many links; that many more addresses on it could not be parsed.

``link_settled(spider, session, search, visit)``: the search has taken a link into account.

``search_ended(spider, session, summary)``: the search is over; the items follow, *summary* the
last.

``search_settled(spider, session)``: the items are out, through the pipelines and written to feeds.

``line_answered(spider, summary, answer, repeated)``: a key page, or a line of a list, has its
summary out; *repeated* if its search was made for an earlier line.

A *session* is all that belongs to one key page (:class:`~tplspider.search.session.SearchSession`).
"""

search_opened = object()
search_started = object()
link_settled = object()
search_ended = object()
search_settled = object()
line_answered = object()

"""Reports: what a search found, as one page of HTML that needs nothing else.

They are made of summaries and templates alone, in the crawl or long after it, and know nothing of
Scrapy. All texts in them come from the web, and are hostile until they are shown.
"""

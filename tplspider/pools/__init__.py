"""Pools of pages of a site: what a page of a whole crawl is compared with, without a search."""

"""Websites made by generators of documentation, whose templates are known: the corpus."""

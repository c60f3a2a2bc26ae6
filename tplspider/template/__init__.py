"""The template of a key page, found by comparing it with pages that share it."""

"""For scrapyd-deploy, which builds an egg and knows of no other file; all is in pyproject.toml."""

from setuptools import setup

setup()

"""What pip installs and scrapyd-deploy packs: the library with the demo website, nothing else."""

import re
from pathlib import Path

from setuptools import find_packages, setup

VERSION = re.search(r'__version__ = "(.+)"', Path("tplspider/__init__.py").read_text("utf-8"))
assert VERSION

COMMANDS = ("crawl", "demo", "table1", "template")

setup(
    name="tplspider",
    version=VERSION[1],
    description="Finds the pages of a website that share the web template of a given page",
    license="BSD-3-Clause",
    python_requires=">=3.11",
    install_requires=Path("requirements.txt").read_text("utf-8").split(),
    # For the main text of a page that no other page tells anything about.
    extras_require={"main": ["resiliparse>=1.1,<2"]},
    packages=find_packages(include=["tplspider*"]),
    package_data={"tplspider.demo": ["site/*", "site/**/*"]},
    entry_points={
        "scrapy": ["settings = tplspider.profiles.scrapyd"],  # of a deployed project
        "scrapy.commands": [f"{name} = tplspider.commands.{name}:Command" for name in COMMANDS],
    },
    zip_safe=True,
)

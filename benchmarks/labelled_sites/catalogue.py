"""The sites, by name."""

from __future__ import annotations

from benchmarks.labelled_sites.generators import SIDEBARS
from benchmarks.labelled_sites.plan import Spec

SIDE = {"html_sidebars": SIDEBARS}
TABS = {"theme": {"features": ["navigation.tabs", "navigation.footer"]}}
# What the theme asks for.
REFLEX = {"MAIN_MENU": True, "CC_LICENSE": None, "SITETITLE": "The Python Notebook"}

SITES = (
    Spec("mk-mkdocs", "mkdocs", "mkdocs", 1),
    Spec("mk-readthedocs", "mkdocs", "readthedocs", 2, messy=("farm", "langs")),
    Spec("mk-material", "mkdocs", "material", 3, pages=34, sections=5, settings=TABS),
    Spec("mk-cinder", "mkdocs", "cinder", 4, key="section"),
    Spec("mk-gitbook", "mkdocs", "gitbook", 6, pages=20, sections=3),
    Spec("mk-ivory", "mkdocs", "ivory", 7, messy=("related", "nomenu")),
    Spec("mk-terminal", "mkdocs", "terminal", 9, pages=30, sections=5),
    Spec("mk-simple-blog", "mkdocs", "simple-blog", 10, messy=("farm",)),
    Spec("mk-dracula", "mkdocs", "dracula", 11, key="section", pages=38),
    Spec("mk-united", "mkdocs", "united-classic", 12, pages=42, sections=5, messy=("langs",)),
    Spec("sx-alabaster", "sphinx", "alabaster", 21),
    Spec("sx-classic", "sphinx", "classic", 22, settings=SIDE, messy=("related", "farm")),
    Spec("sx-nature", "sphinx", "nature", 23, key="section", settings=SIDE),
    Spec("sx-agogo", "sphinx", "agogo", 24, pages=22, sections=3),
    Spec("sx-pyramid", "sphinx", "pyramid", 26, pages=36, sections=5, settings=SIDE),
    Spec("sx-furo", "sphinx", "furo", 27, messy=("farm", "nomenu")),
    Spec("sx-rtd", "sphinx", "sphinx_rtd_theme", 28, pages=32),
    Spec("sx-pydata", "sphinx", "pydata_sphinx_theme", 29, messy=("langs",)),
    Spec("sx-piccolo", "sphinx", "piccolo_theme", 32, pages=24, sections=3),
    Spec("sx-cloud", "sphinx", "cloud", 34, settings=SIDE),
    Spec("pl-notmyidea", "pelican", "notmyidea", 41, pages=24, messy=("farm",)),
    Spec("pl-simple", "pelican", "simple", 43, pages=22, messy=("related", "langs")),
    Spec("pl-simple-category", "pelican", "simple", 44, key="listing", pages=22),
    Spec("pl-reflex", "pelican", "reflex", 45, pages=20, settings=REFLEX),
    Spec(
        "pl-reflex-category",
        "pelican",
        "reflex",
        46,
        "listing",
        ("farm",),
        pages=20,
        settings=REFLEX,
    ),
    # Later than the others, with themes that none of them has.
    Spec("new-sx-shibuya", "sphinx", "shibuya", 51),
    Spec("new-sx-python-docs", "sphinx", "python_docs_theme", 52, settings=SIDE, messy=("farm",)),
    Spec("new-sx-nefertiti", "sphinx", "sphinx_nefertiti", 53, messy=("related", "langs")),
    Spec("new-sx-awesome", "sphinx", "sphinxawesome_theme", 54, key="section", pages=34),
    Spec("new-sx-bootstrap", "sphinx", "bootstrap", 55, pages=22, sections=5),
    Spec("new-mk-shadcn", "mkdocs", "shadcn", 56, pages=30, messy=("langs",)),
    Spec("new-mk-bootstrap4", "mkdocs", "bootstrap4", 57, messy=("farm", "nomenu")),
    Spec("new-nk-bootblog4", "nikola", "bootblog4", 58, pages=24, messy=("related",)),
)

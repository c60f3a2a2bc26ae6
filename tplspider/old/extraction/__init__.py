"""Extraction in processes of its own: a page that takes long, or all memory, stops nothing else."""

EXTRACTOR = "tplspider.template.extract.extract_template"

# Ten times what four pages of 10 MB take, the largest that are loaded by default.
SECONDS = 120
# The same pages need 1000 to 1700; four of 1 MB need 150.
MEGABYTES = 2000

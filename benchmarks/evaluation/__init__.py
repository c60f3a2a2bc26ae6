"""How well templates are found on labelled sites: the paper's Table 1, measured once more."""

"""Extraction in processes of its own: a page that takes long, or all memory, stops nothing else."""

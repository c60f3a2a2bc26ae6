"""Figures, each with a bound: ``python -m benchmarks``; and comparisons, by names of their own."""

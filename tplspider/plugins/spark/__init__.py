"""Jobs for Spark: crawls of lists, and searches and texts of web archives, on many machines."""

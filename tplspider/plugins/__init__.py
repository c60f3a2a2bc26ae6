"""Rooms that need an extra, and that nothing else in the package knows."""

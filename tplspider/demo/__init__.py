"""A small website that comes with the project, and a server for it."""

"""Settings of the project, a profile a module."""

"""Settings of the project: each module is a profile."""

"""Pages as a browser shows them: the ``browser`` profile."""

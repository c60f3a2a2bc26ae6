"""Pages in a folder, saved by whatever program: each without its template, a row for each file."""

"""The former shell: archives, stripping, fields, the browser page and Spark still stand on it."""

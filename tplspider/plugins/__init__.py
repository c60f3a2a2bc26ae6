"""Optional parts: each plugin needs an extra of its own."""

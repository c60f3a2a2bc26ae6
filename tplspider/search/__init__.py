"""The search for an n-CS from one key page (the paper's algorithms), without input or output."""

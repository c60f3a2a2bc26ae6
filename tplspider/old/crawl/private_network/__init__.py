"""Private addresses, and what keeps the search of a public site away from them."""

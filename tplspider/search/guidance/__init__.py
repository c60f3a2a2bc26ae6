"""What the strategy ``guided`` goes by: signs on the key page, and the pages loaded so far."""

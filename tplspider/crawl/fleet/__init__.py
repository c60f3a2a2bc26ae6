"""Many workers, one queue of key pages: a stream in Redis, and leases for the hosts asked."""

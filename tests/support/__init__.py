"""What tests and benchmarks share: websites, servers, crawls, and what is put into crawls."""

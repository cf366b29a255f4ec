"""What operators do to the index while the service runs: rebuild, verify, repair, purge, drop."""

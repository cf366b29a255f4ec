"""Read documents of AWS: answers of its API, metric streams, Enhanced Monitoring."""

"""What do documents of AWS say: answers of its API, metric streams, Enhanced Monitoring."""

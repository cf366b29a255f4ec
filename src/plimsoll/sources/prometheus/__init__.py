"""Read metrics of an instance or a host from a Prometheus-compatible server."""

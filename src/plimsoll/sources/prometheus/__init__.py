"""Metrics that a Prometheus-compatible server keeps of an instance or a host."""

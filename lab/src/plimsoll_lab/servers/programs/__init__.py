"""Programs of ours that run in the Python environment of a server; each is copied beside its server's data."""

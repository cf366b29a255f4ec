"""Load data into a database within its I/O budget."""

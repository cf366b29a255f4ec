"""Read the statistics of a PostgreSQL server between two moments, with bounded load."""

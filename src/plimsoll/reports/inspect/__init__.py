"""Reports of an inspection of a database."""

"""What a PostgreSQL server says of itself between two moments, read so that it is not hurt."""

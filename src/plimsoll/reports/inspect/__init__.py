"""What inside a database spends the limit, said."""

"""What limit a database is up against, said."""

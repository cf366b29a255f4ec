"""What an instance and its volumes can do, said."""

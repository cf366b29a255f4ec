"""What is wrong with a pooler's settings, said."""

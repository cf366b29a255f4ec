"""What changed between two sides, said."""

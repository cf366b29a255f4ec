"""Reports of a diagnosis."""

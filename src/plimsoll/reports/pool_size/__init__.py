"""Reports of pool sizes."""

"""Reports of findings on a pooler's settings."""

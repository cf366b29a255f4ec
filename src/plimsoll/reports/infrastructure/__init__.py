"""Reports of findings on declared databases."""

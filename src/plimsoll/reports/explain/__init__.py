"""Reports of recorded query plans and their comparison."""

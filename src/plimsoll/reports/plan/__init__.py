"""Reports of a plan: its options, and whether each is enough."""

"""Reports of a run in the lab: its progress and its result."""

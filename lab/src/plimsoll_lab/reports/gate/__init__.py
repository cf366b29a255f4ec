"""Reports of a running gate: its status for programs."""

"""Reports of the proof of rewritten TOAST values."""

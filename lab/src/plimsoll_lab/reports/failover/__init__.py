"""The report of an experiment with failovers."""

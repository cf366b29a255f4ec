"""Parse numbers, steps and times, and format text for messages."""

"""The ranked table of a fleet."""

"""The REST API that searches the live index."""

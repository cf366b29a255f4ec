"""Generate incidents in a third way; see README.md."""

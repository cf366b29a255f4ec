"""Defaults that the command line shows without loading anything else."""

LEDGER = "plimsoll-watch.db"
"""File of the ledger, in the current folder."""
# Beside those of our other servers: 9779 is that of `plimsoll pace --listen`.
ADDRESS = "127.0.0.1:9780"

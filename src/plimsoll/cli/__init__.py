"""The command line: one noun phrase per command; `wire.py` composes sources, law and reports."""

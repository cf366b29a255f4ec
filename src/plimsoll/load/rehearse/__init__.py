"""Rehearse a load: copy a sample into a scratch table, and compute how long the whole takes."""

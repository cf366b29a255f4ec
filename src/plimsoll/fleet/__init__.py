"""Verdicts of many instances: one function from Arrow to Arrow, the lake it reads, and a local engine."""

"""Colours, labels and drawing of charts."""

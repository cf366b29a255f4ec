"""Triggers of Plimsoll."""

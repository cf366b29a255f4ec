"""Hooks of Plimsoll."""

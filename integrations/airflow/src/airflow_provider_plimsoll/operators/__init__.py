"""Operators of Plimsoll."""

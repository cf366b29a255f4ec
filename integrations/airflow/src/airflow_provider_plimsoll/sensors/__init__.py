"""Sensors of Plimsoll."""

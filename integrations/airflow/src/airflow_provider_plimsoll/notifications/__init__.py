"""Notifications of Plimsoll."""

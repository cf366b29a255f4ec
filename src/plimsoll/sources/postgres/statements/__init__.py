"""Provide all statements that Plimsoll sends to a server, by topic, and the terms of each conversation."""

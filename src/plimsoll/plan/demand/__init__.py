"""What a load asked for: how much of it is hidden behind a ceiling, and whose waiting it is."""

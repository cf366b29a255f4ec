"""Files that are written: whole, and nowhere else than asked."""

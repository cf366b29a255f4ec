"""How a snapshot stands in a file that is kept: its form, the versions of that form, and both directions."""

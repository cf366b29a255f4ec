"""`plimsoll lab`: options and commands."""

"""`plimsoll plan`: options and command."""

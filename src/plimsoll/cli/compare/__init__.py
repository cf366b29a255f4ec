"""`plimsoll compare`: options and command."""

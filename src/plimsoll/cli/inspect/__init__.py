"""`plimsoll inspect`: options and command."""

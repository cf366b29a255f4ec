"""`plimsoll record`: options and commands."""

"""`plimsoll diagnose`: options and command."""

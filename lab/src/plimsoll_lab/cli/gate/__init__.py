"""`plimsoll gate`: options, commands and texts."""

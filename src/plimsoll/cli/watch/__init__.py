"""`plimsoll watch`: the service, and what it would do and cost."""

"""Load files into a table in parallel, exactly once, at the pace of the allowance."""

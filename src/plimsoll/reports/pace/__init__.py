"""The report of an allowance."""

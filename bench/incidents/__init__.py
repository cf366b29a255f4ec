"""Generate simulated RDS incidents with known truth from a seed; see build.generate."""

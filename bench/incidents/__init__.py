"""A seeded generator of simulated RDS incidents with known truth; see build.generate."""

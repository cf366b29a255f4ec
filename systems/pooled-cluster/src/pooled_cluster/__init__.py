"""The system of the fourth published incident: services with pools, and a cluster behind a pooler."""

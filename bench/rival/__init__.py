"""Generate incidents in a second, independent way: an RDS instance under EBS limits, seen from outside."""

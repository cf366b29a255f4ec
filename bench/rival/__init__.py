"""A second, independent maker of incidents: how an RDS instance under EBS limits looks outside."""

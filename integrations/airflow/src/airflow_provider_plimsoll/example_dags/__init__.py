"""Example DAGs of Plimsoll."""

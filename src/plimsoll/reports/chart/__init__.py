"""How charts look, where their labels stand, and how they are drawn."""

"""How many connections a pool should have, said."""

"""How a run in the lab stands, and what came out of it."""

"""The tables of claims, and loading into them."""

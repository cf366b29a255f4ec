"""What to buy and whether it is enough, said."""

"""The way past a ceiling: demand behind it, what can be bought, what each does, costs and risks."""

"""Which indexes cost more than they give, and where is one missing?"""

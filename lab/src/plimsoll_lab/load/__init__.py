"""Which tables does a load use, and which clients apply it at which rate?"""

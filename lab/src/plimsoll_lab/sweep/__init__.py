"""How many requests of each size does a storage or a server complete?"""

"""How many connections does a pool need?"""

"""Which statements read, write and spill the most?"""

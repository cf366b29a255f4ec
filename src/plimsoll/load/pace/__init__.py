"""How fast may a batch go now?"""

"""What do a PostgreSQL server's own views say between two moments, read without hurting it?"""

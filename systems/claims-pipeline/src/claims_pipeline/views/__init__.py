"""
Materialized views over the tables of claims, and their refresh.

Rule 1: a view is a file in `sql/`, with its indexes. Files are created in the order of their names.
Rule 2: what a view depends on, and so the order of a refresh, is read from the database's catalog and nowhere written.
"""

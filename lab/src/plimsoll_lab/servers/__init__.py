"""Which throwaway PostgreSQL or MariaDB runs on this machine, and who ends it?"""

"""
Provide the commands for the consoles of PgBouncer and Pgpool-II: only SHOW, outside of transactions.

Source: PgBouncer manual, "Admin console"; Pgpool-II manual, "SHOW POOL_POOLS" and "SHOW POOL_STATUS".
"""

PGBOUNCER_VERSION = "SHOW VERSION"
CONFIG = "SHOW CONFIG"
DATABASES = "SHOW DATABASES"
USERS = "SHOW USERS"
POOLS = "SHOW POOLS"
LISTS = "SHOW LISTS"

PGPOOL_VERSION = "SHOW POOL_VERSION"
POOL_STATUS = "SHOW POOL_STATUS"
POOL_POOLS = "SHOW POOL_POOLS"

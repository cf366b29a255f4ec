"""
Create the tables of the order domain, and fill them with simulated data.

The password of the role is in $PGPASSWORD. Tables that are filled stay as they are.
"""

import argparse
import os
import sys

from psycopg.conninfo import make_conninfo

from pooled_cluster.services.data import CUSTOMERS, ORDERS, PRODUCTS, fill


def add(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command to its parser."""
    parser.add_argument("--host", default="127.0.0.1", help="the server that takes writes (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, required=True, help="its port")
    parser.add_argument("--database", default="orders", help="database, which exists (default: orders)")
    parser.add_argument("--user", default="orders", help="role that may create tables there (default: orders)")
    for name, count in (("customers", CUSTOMERS), ("products", PRODUCTS), ("orders", ORDERS)):
        parser.add_argument(f"--{name}", type=int, default=count, help=f"number of {name} (default: {count:,})")


def run(arguments: argparse.Namespace) -> int:
    """
    Fill the tables.

    Raises:
        UsageError: a number is outside of its range.
        UnavailableError: the server does not answer, or refuses.
    """
    address = make_conninfo(
        host=arguments.host,
        port=arguments.port,
        dbname=arguments.database,
        user=arguments.user,
        password=os.environ.get("PGPASSWORD", ""),
    )
    is_new = fill(address, customers=arguments.customers, products=arguments.products, orders=arguments.orders)
    sys.stdout.write(
        f"filled with {arguments.orders:,} simulated orders\n" if is_new else "the tables are filled already\n"
    )
    return 0

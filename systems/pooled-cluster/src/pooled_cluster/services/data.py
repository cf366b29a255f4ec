"""Create the tables of the order domain, and fill them with simulated data."""

from importlib.resources import files

import psycopg

from pooled_cluster.services.errors import UnavailableError, UsageError

CUSTOMERS, PRODUCTS, ORDERS = 20_000, 5_000, 50_000
MOST = 50_000_000
_ANSWER_S = 10


def fill(address: str, *, customers: int = CUSTOMERS, products: int = PRODUCTS, orders: int = ORDERS) -> bool:
    """
    Create the tables and fill them in one transaction; return False if they are already filled.

    Args:
        address: connection string of the server that takes writes. Not of a pooler: the tables then are on
            every server before anybody reads them.
        customers: number of customers, with a cart, an address and loyalty points each.
        products: number of products, at least 10.
        orders: number of earlier orders of three lines each.

    Raises:
        UsageError: a number is outside of its range.
        UnavailableError: the server does not answer, or refuses.
    """
    for name, value, least in (("customers", customers, 1), ("products", products, 10), ("orders", orders, 1)):
        if not least <= value <= MOST:
            raise UsageError(f"{name} must be {least} to {MOST:,}, not {value:,}")
    sizes = {"customers": customers, "products": products, "orders": orders}
    try:
        with psycopg.connect(address, connect_timeout=_ANSWER_S) as connection:
            connection.execute(_text("schema.sql"))
            if connection.execute("SELECT EXISTS (SELECT FROM customers)").fetchone() == (True,):
                return False
            for statement in _text("fill.sql").split(";\n"):
                if statement.strip():
                    connection.execute(statement.encode(), sizes)
            connection.commit()
            connection.autocommit = True
            connection.execute("VACUUM (ANALYZE)")
    except psycopg.Error as error:
        reason = str(error).strip().splitlines() or ["it gave no reason"]
        raise UnavailableError(
            f"the tables cannot be filled: {reason[0]}", "Check the address and the rights of the role."
        ) from error
    return True


def _text(name: str) -> str:
    return files("pooled_cluster.services").joinpath(name).read_text(encoding="utf-8")

"""A database for the tests of views: each test gets empty tables, and views that have no rows yet."""

import uuid
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection
from servers import Servers, query
from tables import create_tables

from claims_pipeline.views.define import define


@pytest.fixture(scope="session")
def servers() -> Iterator[Servers]:
    """PostgreSQL alone: views need nothing else, and it starts sooner than all servers."""
    found = Servers.start("postgres")
    yield found
    found.stop()


@pytest.fixture(scope="session")
def one_url(servers: Servers) -> Iterator[str]:
    """One database for all: to copy and drop one for each test costs a checkpoint each."""
    admin, name = servers.addresses["postgres"], f"t{uuid.uuid4().hex[:12]}"
    query(admin, f"CREATE DATABASE {name}")
    yield f"{admin.rpartition('/')[0]}/{name}?options=-csynchronous_commit%3Doff"
    query(admin, f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def database_url(one_url: str) -> str:
    """The address of the database, whose tables are empty."""
    with psycopg.connect(one_url) as connection:
        connection.execute("DROP SCHEMA IF EXISTS claims CASCADE")
        create_tables(connection)
        define(connection)
    return one_url


@pytest.fixture
def database(database_url: str) -> Iterator[Connection]:
    """A connection to it."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield connection

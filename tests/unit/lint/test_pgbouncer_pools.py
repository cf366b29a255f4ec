"""Pools of PgBouncer by database, user and server, against what the server takes."""

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.lint.pooler import ServerRoom, lint
from plimsoll.model.cause import Cause
from plimsoll.model.pooler import PooledDatabase, PooledUser, PoolerConfig


def found(
    *databases: PooledDatabase, version: str | None = "1.25.0", users=(), **settings: str
) -> dict[str, Cause]:
    """
    Findings by code, before a server with 13 usable connections.
    """
    config = PoolerConfig(
        kind="pgbouncer",
        place="pgbouncer.ini",
        version=version,
        settings=settings,
        databases=databases,
        users=users,
    )
    return {cause.code: cause for cause in lint(config, catalog(), ServerRoom(connection_max=16))}


def summed(*databases: PooledDatabase, **others) -> Cause | None:
    """
    The sum of the pools; None where they fit.
    """
    return found(*databases, **others).get("PoolsExceedMaxConnections")


def test_a_users_own_pool_size_holds_before_the_databases():
    """
    Of a database that forces it; the bound of a user is of all its pools together.
    """
    a, b = (PooledDatabase(name=name, user="app", size_max=5) for name in "ab")
    large = (PooledUser(name="app", size_max=8, reserve=2),)
    bounded = (PooledUser(name="app", size_max=8, servers_max=13),)

    assert summed(a, b) is None
    assert 20 == summed(a, b, users=large).evidence[1].value
    assert "10 + 10 = 20, with one user each." in summed(a, b, users=large).text
    assert summed(a, b, users=bounded) is None
    assert 14 == summed(a, b, users=large, max_user_connections="14").evidence[1].value


def test_users_that_nobody_forces_are_as_many_as_databases():
    """
    A bound for each user bounds each pool there, not their sum.
    """
    databases = [PooledDatabase(name=name) for name in "abc"]
    cause = summed(*databases, max_user_connections="5", users=(PooledUser(name="u", size_max=3),))

    assert 15 == cause.evidence[1].value
    assert "of their own size have u (3)" in cause.text


def test_each_server_takes_its_own_pools():
    """
    Two databases on two servers are not added up.
    """
    near = PooledDatabase(name="a", size_max=10, server="db1:5432")
    far = PooledDatabase(name="b", size_max=10, server="db2:5432")
    large = PooledDatabase(name="c", size_max=9, server="db2:5432")

    assert summed(near, far) is None
    assert "19 connections to db2:5432, the server takes 13" in summed(near, far, large).title


@pytest.mark.parametrize(("version", "is_bounded"), [("1.23.1", True), ("1.24.0", False)])
def test_a_size_of_zero_is_no_bound_since_1_24(version: str, is_bounded: bool):
    """
    Then any number of connections may be opened, unless the database or the user is bounded.
    """
    database = PooledDatabase(name="a", user="app", size_max=0)
    bound = (PooledUser(name="app", servers_max=13),)
    told = summed(database, version=version)

    assert (told is None) == is_bounded
    if not is_bounded:
        assert "may open any number of connections" in told.title
        assert "A pool_size of 0 is no bound: a." in told.text
    assert summed(database, version=version, users=bound) is None


@pytest.mark.parametrize(
    ("version", "user", "is_told"),
    [
        ("1.22.1", PooledUser(name="app", size_max=5), True),
        ("1.23.0", PooledUser(name="app", size_max=5), False),
        ("1.23.1", PooledUser(name="app", reserve=5), True),
        ("1.24.0", PooledUser(name="app", reserve=5), False),
        ("1.18.0", PooledUser(name="app", mode="session", servers_max=5), False),
        (None, PooledUser(name="app", size_max=5), False),
    ],
)
def test_a_release_refuses_settings_of_users_that_it_does_not_know(version, user, is_told):
    """
    Sizes came with 1.23, reserves with 1.24; where the version is not known nothing is said.
    """
    assert is_told == ("UserSettingTooNew" in found(version=version, users=(user,)))


def test_the_release_that_knows_all_settings_of_users_is_named():
    """
    Of two that are not known, the later one decides.
    """
    users = (PooledUser(name="app", size_max=5, reserve=5),)
    told = found(version="1.22.1", users=users)["UserSettingTooNew"]

    assert "Upgrade to 1.24 or later" in told.remedies[0].text


def test_a_user_may_share_where_no_database_does():
    """
    Its mode is a trap of its own, in front of any database.
    """
    user = PooledUser(name="app", mode="transaction")

    assert {"PreparedStatementsBreak", "SessionFeaturesLost"} <= set(
        found(version="1.20.0", users=(user,))
    )


def test_a_database_keeps_no_more_warm_than_it_may_have():
    """
    Its own minimum against its own size.
    """
    database = PooledDatabase(name="a", size_max=5, size_min=6)
    told = found(database)["MinPoolCapped"]

    assert "min_pool_size = 6 of a is more than a pool may have (5)" == told.title
    assert "MinPoolCapped" not in found(PooledDatabase(name="a", size_max=6), min_pool_size="6")

"""Pools of PgBouncer by database, user and server, against what the server takes."""

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.lint.pooler import ServerRoom, lint
from plimsoll.model.cause import Cause
from plimsoll.model.pooler import PooledDatabase, PooledUser, PoolerConfig


def found(*databases: PooledDatabase, version: str | None = "1.25.0", users=(), **settings: str) -> dict[str, Cause]:
    """Return findings by code, for a server with 13 usable connections."""
    config = PoolerConfig(
        kind="pgbouncer", place="pgbouncer.ini", version=version, settings=settings, databases=databases, users=users
    )
    return {cause.code: cause for cause in lint(config, catalog(), ServerRoom(connection_max=16))}


def summed(*databases: PooledDatabase, **others) -> Cause | None:
    """Return the finding about the pools' total; None if they fit."""
    return found(*databases, **others).get("PoolsExceedMaxConnections")


def test_a_users_pool_size_comes_before_the_databases():
    """The user's size counts for a database that forces the user; its limit is for all its pools."""
    a, b = (PooledDatabase(name=name, user="app", size_max=5) for name in "ab")
    large = (PooledUser(name="app", size_max=8, reserve=2),)
    bounded = (PooledUser(name="app", size_max=8, servers_max=13),)

    assert summed(a, b) is None
    assert 20 == summed(a, b, users=large).evidence[1].value
    assert "10 + 10 = 20, with one user each." in summed(a, b, users=large).text
    assert summed(a, b, users=bounded) is None
    assert 14 == summed(a, b, users=large, max_user_connections="14").evidence[1].value


def test_databases_without_a_forced_user_count_as_different_users():
    """max_user_connections limits each pool, not the total of pools of different users."""
    databases = [PooledDatabase(name=name) for name in "abc"]
    cause = summed(*databases, max_user_connections="5", users=(PooledUser(name="u", size_max=3),))

    assert 15 == cause.evidence[1].value
    assert "users with their own pool_size: u (3)" in cause.text


def test_pools_are_added_per_server():
    """Pools to two servers are not added."""
    near = PooledDatabase(name="a", size_max=10, server="db1:5432")
    far = PooledDatabase(name="b", size_max=10, server="db2:5432")
    large = PooledDatabase(name="c", size_max=9, server="db2:5432")

    assert summed(near, far) is None
    assert "19 connections to db2:5432, but the server accepts 13" in summed(near, far, large).title


@pytest.mark.parametrize(("version", "is_bounded"), [("1.23.1", True), ("1.24.0", False)])
def test_a_size_of_zero_means_no_limit_from_1_24_on(version: str, is_bounded: bool):
    """From 1.24 on, any number may be opened, unless the database or the user has a limit."""
    database = PooledDatabase(name="a", user="app", size_max=0)
    bound = (PooledUser(name="app", servers_max=13),)
    cause = summed(database, version=version)

    assert (cause is None) == is_bounded
    if not is_bounded:
        assert "may open any number of connections" in cause.title
        assert "A pool_size of 0 means no limit: a." in cause.text
    assert summed(database, version=version, users=bound) is None


@pytest.mark.parametrize(
    ("version", "user", "is_found"),
    [
        ("1.22.1", PooledUser(name="app", size_max=5), True),
        ("1.23.0", PooledUser(name="app", size_max=5), False),
        ("1.23.1", PooledUser(name="app", reserve=5), True),
        ("1.24.0", PooledUser(name="app", reserve=5), False),
        ("1.18.0", PooledUser(name="app", mode="session", servers_max=5), False),
        (None, PooledUser(name="app", size_max=5), False),
    ],
)
def test_a_release_rejects_unknown_user_settings(version, user, is_found):
    """Users have a pool_size from 1.23 on and a reserve from 1.24 on; an unknown version gives no finding."""
    assert is_found == ("UserSettingTooNew" in found(version=version, users=(user,)))


def test_the_release_that_knows_all_user_settings_is_named():
    """If two settings are unknown, the release that knows both is named."""
    users = (PooledUser(name="app", size_max=5, reserve=5),)
    cause = found(version="1.22.1", users=users)["UserSettingTooNew"]

    assert "Upgrade to 1.24 or later" in cause.remedies[0].text


def test_a_user_may_have_transaction_mode_where_no_database_has_it():
    """A user's transaction mode gives the findings of shared connections for every database."""
    user = PooledUser(name="app", mode="transaction")

    assert {"PreparedStatementsBreak", "SessionFeaturesLost"} <= set(found(version="1.20.0", users=(user,)))


def test_a_minimum_above_the_pool_size_is_found():
    """A database's minimum is compared with its own size."""
    database = PooledDatabase(name="a", size_max=5, size_min=6)
    cause = found(database)["MinPoolCapped"]

    assert "min_pool_size = 6 of a is more than the pool size (5)" == cause.title
    assert "MinPoolCapped" not in found(PooledDatabase(name="a", size_max=6), min_pool_size="6")

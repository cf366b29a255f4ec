"""Settings of Pgpool-II and PgBouncer, each rule where it must fire and where it must not."""

import re

import pytest

from plimsoll.catalog.load import catalog
from plimsoll.lint.pooler import ServerRoom, lint, unknown_of
from plimsoll.lint.settings import Affected, Settings
from plimsoll.model.cause import Cause
from plimsoll.model.pooler import PooledDatabase, PoolerConfig

# What the incident of 2021 had set.
STORY = {
    "serialize_accept": "on",
    "client_idle_limit": "120",
    "child_life_time": "0",
    "connection_life_time": "60",
    "child_max_connections": "10",
}
FIXED = ("4.2.0", "4.1.4", "4.0.11", "3.7.16", "3.6.23", "3.5.27")
BROKEN = ("4.1.3", "4.0.10", "3.7.15", "3.6.22", "3.5.26", "3.4.26")
LIFE_TIME = "LifeTimeIgnoredUnderSerializeAccept"
NODE_0_FIXED = ("4.2.0", "4.1.3", "4.0.10", "3.7.15", "3.6.22", "3.5.26")
OF_PGBOUNCER = {
    *("server_reset_query", "server_lifetime", "query_wait_timeout", "reserve_pool_size"),
    *("min_pool_size", "server_idle_timeout", "query_timeout"),
}
THREE_NODES = {f"backend_hostname{node}": f"pg{node}" for node in range(3)}


def pgpool(version: str | None = None, room: ServerRoom | None = None, **settings) -> list[Cause]:
    config = PoolerConfig(kind="pgpool", place="pgpool.conf", version=version, settings=settings)
    return list(lint(config, catalog(), room))


def pgbouncer(
    version: str | None = None, databases: tuple[PooledDatabase, ...] = (), room: ServerRoom | None = None, **settings
) -> list[Cause]:
    config = PoolerConfig(
        kind="pgbouncer", place="pgbouncer.ini", version=version, settings=settings, databases=databases
    )
    return list(lint(config, catalog(), room))


def codes(causes: list[Cause]) -> set[str]:
    return {cause.code for cause in causes}


def one(causes: list[Cause], code: str) -> Cause:
    (cause,) = [cause for cause in causes if cause.code == code]
    return cause


@pytest.mark.parametrize(
    ("room", "flags"),
    [
        (None, ["--max-connections", "--version"]),
        (ServerRoom(), ["--max-connections", "--version"]),
        (ServerRoom(connection_max=100), ["--version"]),
    ],
)
def test_missing_facts_name_their_option(room: ServerRoom | None, flags: list[str]):
    """Each unchecked part is named with the option that allows the check."""
    config = PoolerConfig(kind="pgpool", place="pgpool.conf", version=None, settings={})
    found = unknown_of(config, room)

    assert flags == [sentence.split()[-1] for sentence in found]


OF_PGPOOL = (
    # Every branch has the defect up to the release before the published one; dead branches have it forever.
    *((version, STORY, LIFE_TIME, "critical") for version in BROKEN),
    *((version, STORY, LIFE_TIME, None) for version in (*FIXED, "4.3.5", "4.7.3", "4.10.0")),
    (None, STORY, LIFE_TIME, "warning"),
    # Without the lock, with a child_life_time, or without a life time, it has no effect.
    *(
        ("4.1.3", {**STORY, **change}, LIFE_TIME, None)
        for change in ({"serialize_accept": "off"}, {"child_life_time": "300"}, {"connection_life_time": "0"})
    ),
    # 4.1.0 to 4.1.8 and 4.2.0 to 4.2.5 can refuse clients too early.
    *(
        (version, {}, "ClientsMiscounted", severity)
        for version, severity in (("4.0.9", None), ("4.1.8", "note"), ("4.1.9", None), ("4.2.5", "note"))
    ),
    # In dynamic mode spare children end, whatever their time.
    ("4.5.2", {"child_life_time": "0"}, "CachedServersNeverEnd", "warning"),
    ("4.5.2", {"child_life_time": "0", "process_management_mode": "dynamic"}, "CachedServersNeverEnd", None),
)
TRANSACTION, SESSION = {"pool_mode": "transaction"}, {"pool_mode": "session"}
KEPT = {"max_prepared_statements": "100"}
FOUND_IN_TRANSACTION_MODE = (
    ("1.25.0", {"server_reset_query": "DISCARD ALL"}, "ResetNeverRuns"),
    ("1.25.0", {"server_reset_query_always": "1"}, "ResetAlways"),
    ("1.21.0", {"server_reset_query_always": "1", **KEPT}, "ResetForgetsPrepared"),
    ("1.25.0", {}, "IdleTransactionsPinServers"),
    ("1.25.0", {}, "SessionFeaturesLost"),
)
OF_PGBOUNCER_BY_MODE = (
    # They break before 1.21 always, from 1.21 on by default, and from 1.24 on only if disabled.
    *(
        (version, {**TRANSACTION, **settings}, "PreparedStatementsBreak", severity)
        for version, settings, severity in (
            ("1.20.1", {}, "warning"),
            ("1.21.0", {}, "warning"),
            ("1.23.1", {}, "warning"),
            ("1.23.1", KEPT, None),
            ("1.24.0", {}, None),
            ("1.24.0", {"max_prepared_statements": "0"}, "warning"),
            (None, {}, "note"),
            (None, {"max_prepared_statements": "0"}, "warning"),
        )
    ),
    *((version, {**TRANSACTION, **settings}, code, "any") for version, settings, code in FOUND_IN_TRANSACTION_MODE),
    *((version, {**SESSION, **settings}, code, None) for version, settings, code in FOUND_IN_TRANSACTION_MODE),
    # BEGIN is an error there.
    ("1.25.0", {"pool_mode": "statement"}, "TransactionsRefused", "any"),
)


@pytest.mark.parametrize(
    ("lints", "version", "settings", "code", "severity"),
    [*((pgpool, *row) for row in OF_PGPOOL), *((pgbouncer, *row) for row in OF_PGBOUNCER_BY_MODE)],
    ids=lambda x: getattr(x, "__name__", x) if not isinstance(x, dict) else " ".join(x.values()),
)
def test_a_finding_depends_on_version_and_setting(lints, version, settings: dict[str, str], code: str, severity):
    """Where it fires, and where it does not; a severity of any is asserted elsewhere."""
    found = [cause.severity for cause in lints(version, **settings) if cause.code == code]

    assert ([severity] if severity else []) == (["any"] * len(found) if severity == "any" else found)


def test_the_defect_of_the_life_time_is_dated_and_an_unknown_version_said():
    """The release with the fix has its day; without a version all releases with it are named."""
    known, unknown = (one(pgpool(version, **STORY), LIFE_TIME) for version in ("4.1.3", None))

    assert "2020-09-17" in known.evidence[1].text
    assert "this version is unknown" in unknown.title
    assert all(version in unknown.evidence[1].text for version in FIXED)


def test_the_upgrade_stays_in_the_branch():
    """4.0.5 needs 4.0.11; a branch without a fix needs the oldest branch that has one."""
    found = {version: one(pgpool(version, **STORY), LIFE_TIME).remedies[0].text for version in ("4.0.5", "3.4.2")}

    assert found == {"4.0.5": "Upgrade to 4.0.11 or later.", "3.4.2": "Upgrade to 3.5.27 or later."}


@pytest.mark.parametrize("version", NODE_0_FIXED)
def test_the_timer_of_node_0_was_fixed_one_release_earlier(version: str):
    """The second defect ends in 4.1.3, 4.0.10, 3.7.15, 3.6.22 and 3.5.26; 4.2 began without it."""
    settings = Settings(config=PoolerConfig(kind="pgpool", place="", version=version), facts=catalog())
    before = re.sub(r"\d+$", lambda last: str(int(last[0]) - 1), version)
    older = Settings(config=PoolerConfig(kind="pgpool", place="", version=before), facts=catalog())

    assert settings.affected_by("life_time_needs_node_0") is Affected.NO
    if not version.endswith(".0"):
        assert older.affected_by("life_time_needs_node_0") is Affected.YES


def test_node_0_matters_only_with_several_nodes():
    """A single node is always node 0."""
    several = pgpool("4.1.2", connection_life_time="60", **THREE_NODES)
    alone = pgpool("4.1.2", connection_life_time="60", backend_hostname0="pg0")

    assert one(several, "LifeTimeNeedsNode0").severity == "warning"
    assert codes(alone) <= {"ClientsMiscounted"}


def test_children_times_pools_are_compared_with_each_node():
    """32 children with 4 connections each open 128 at each of three nodes; 97 of 100 are usable."""
    cause = one(pgpool("4.3.5", ServerRoom(connection_max=100), **THREE_NODES), "PoolsExceedMaxConnections")

    assert cause.severity == "critical"
    assert "32 × 4 = 128 connections at each of 3 nodes, 384 in all" in cause.title
    assert (cause.evidence[1].value, cause.evidence[1].reference) == (128, 97)
    assert cause.remedies[0].commands == ("num_init_children = 32", "max_pool = 3")


def test_the_remedy_does_not_add_children():
    """90 children with 4 connections each exceed 97; 90 with one each fit."""
    cause = one(pgpool("4.3.5", ServerRoom(connection_max=100), num_init_children="90"), "PoolsExceedMaxConnections")

    assert cause.remedies[0].commands == ("num_init_children = 90", "max_pool = 1")


def test_cancelling_needs_twice_as_many():
    """128 connections fit into 200, but not with a cancel request each; 259 less 3 are enough."""
    tight = pgpool("4.3.5", ServerRoom(connection_max=200))

    assert one(tight, "NoRoomToCancel").severity == "note"
    assert pgpool("4.3.5", ServerRoom(connection_max=259)) == []


@pytest.mark.parametrize(
    ("settings", "code", "severity"),
    [
        ({"serialize_accept": "on"}, "SerializeAcceptWithoutEffect", "note"),
        ({"child_life_time": "0"}, "CachedServersNeverEnd", "warning"),
        ({"connection_life_time": "10min"}, "LifeTimeBeyondChild", "note"),
        ({"child_max_connections": "10"}, "ChildrenShortLived", "warning"),
        ({"client_idle_limit": "120"}, "IdleLimitCutsClients", "note"),
        ({"client_idle_limit": "120", "connection_life_time": "60"}, "IdleLimitContradicts", "note"),
        ({"connection_cache": "off"}, "NothingPooled", "note"),
        ({"reset_query_list": "ABORT"}, "SessionStateLeaks", "warning"),
        ({"server_reset_query": ""}, "SessionStateLeaks", "warning"),
        ({"server_lifetime": "0"}, "ServersUsedOnce", "warning"),
        ({"query_wait_timeout": "0"}, "ClientsWaitForEver", "warning"),
        ({"reserve_pool_size": "5", "reserve_pool_timeout": "0"}, "ReserveNeverOpens", "warning"),
        (
            {"reserve_pool_size": "5", "reserve_pool_timeout": "60", "query_wait_timeout": "30"},
            "ReserveNeverOpens",
            "warning",
        ),
        ({"min_pool_size": "50"}, "MinPoolCapped", "note"),
        ({"server_idle_timeout": "7200"}, "TimeoutsContradict", "note"),
        ({"query_timeout": "30"}, "TimeoutsContradict", "note"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_settings_that_conflict(settings: dict, code: str, severity: str):
    """Each of these settings alone gives exactly this finding."""
    is_of_pgbouncer = set(settings) & OF_PGBOUNCER
    (cause,) = pgbouncer("1.25.0", **settings) if is_of_pgbouncer else pgpool("4.3.5", **settings)

    assert (cause.code, cause.severity) == (code, severity)


def test_pools_are_summed_over_databases():
    """20 + 5 for one database and 80 + 5 for another make 110; max_db_connections bounds each."""
    databases = (PooledDatabase(name="a"), PooledDatabase(name="b", size_max=80))
    room = ServerRoom(connection_max=100)
    settings = {"default_pool_size": "20", "reserve_pool_size": "5"}
    cause = one(pgbouncer("1.25.0", databases, room, **settings), "PoolsExceedMaxConnections")
    bounded = pgbouncer("1.25.0", databases, room, max_db_connections="48", **settings)

    assert cause.evidence[1].value == 110
    assert cause.remedies[0].commands == ("max_db_connections = 48",)
    assert "PoolsExceedMaxConnections" not in codes(bounded)


@pytest.mark.parametrize(
    "found",
    [
        pgpool(),
        pgpool("4.3.5"),
        pgpool("4.2.5", reserved_connections="1"),
        pgbouncer(),
        pgbouncer("1.18.0"),
        pgbouncer("1.25.0", **SESSION),
        pgbouncer("1.25.0", (PooledDatabase(name="a", size_max=100),), max_client_conn="1000"),
        # Equal bounds contradict nothing.
        pgbouncer("1.25.0", min_pool_size="20"),
        pgbouncer("1.25.0", server_idle_timeout="3600"),
        pgbouncer("1.25.0", query_timeout="120"),
        pgbouncer("1.25.0", reserve_pool_size="5"),
    ],
)
def test_sound_settings_give_no_finding(found: list[Cause]):
    """Defaults, an unknown server, bounds that just agree, a pool that is shared by ten times as many clients."""
    assert [] == found


def test_one_database_in_transaction_mode_loses_sessions_and_a_pool_as_large_as_its_clients_saves_nothing():
    """Of a database's own mode the text names what is lost; 100 clients that may open 100 servers gain no connection."""
    own_mode = pgbouncer("1.25.0", (PooledDatabase(name="orders", mode="transaction"),), **SESSION)
    text = one(own_mode, "SessionFeaturesLost").text

    assert all(words in text for words in ("advisory locks", "LISTEN"))
    assert one(pgbouncer("1.25.0", (PooledDatabase(name="a", size_max=100),), max_client_conn="100"), "NothingShared")

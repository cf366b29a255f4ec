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


@pytest.mark.parametrize("version", BROKEN)
def test_the_life_time_is_ignored_before_the_fix(version: str):
    """Every branch has the defect up to the release before the published one; dead branches have it forever."""
    cause = one(pgpool(version, **STORY), "LifeTimeIgnoredUnderSerializeAccept")

    assert cause.severity == "critical"
    assert "2020-09-17" in cause.evidence[1].text


@pytest.mark.parametrize("version", [*FIXED, "4.3.5", "4.7.3", "4.10.0"])
def test_the_life_time_works_from_the_fix_on(version: str):
    """4.2.0, 4.1.4, 4.0.11, 3.7.16, 3.6.23, 3.5.27 and every newer branch have the fix."""
    assert "LifeTimeIgnoredUnderSerializeAccept" not in codes(pgpool(version, **STORY))


def test_an_unknown_version_is_reported_as_unknown():
    """Without a version the finding is a warning that names all releases with the fix."""
    cause = one(pgpool(None, **STORY), "LifeTimeIgnoredUnderSerializeAccept")

    assert cause.severity == "warning"
    assert "this version is unknown" in cause.title
    assert all(version in cause.evidence[1].text for version in FIXED)


@pytest.mark.parametrize(
    "change", [{"serialize_accept": "off"}, {"child_life_time": "300"}, {"connection_life_time": "0"}], ids=str
)
def test_the_defect_needs_all_three_settings(change: dict[str, str]):
    """Without the lock, with a child_life_time, or without a life time, the defect has no effect."""
    found = codes(pgpool("4.1.3", **{**STORY, **change}))

    assert "LifeTimeIgnoredUnderSerializeAccept" not in found


def test_the_upgrade_stays_in_the_branch():
    """4.0.5 needs 4.0.11; a branch without a fix needs the oldest branch that has one."""
    found = {
        version: one(pgpool(version, **STORY), "LifeTimeIgnoredUnderSerializeAccept").remedies[0].text
        for version in ("4.0.5", "3.4.2")
    }

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


def test_default_settings_are_sound():
    """Default settings and an unknown server give no finding."""
    assert pgpool() == []
    assert pgpool("4.3.5") == []
    assert pgbouncer() == []
    assert pgbouncer("1.18.0") == []


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


def test_only_some_releases_miscount_their_clients():
    """4.1.0 to 4.1.8 and 4.2.0 to 4.2.5 can refuse clients too early, unless connections are reserved."""
    has = {v: "ClientsMiscounted" in codes(pgpool(v)) for v in ("4.0.9", "4.1.8", "4.1.9", "4.2.5")}

    assert has == {"4.0.9": False, "4.1.8": True, "4.1.9": False, "4.2.5": True}
    assert pgpool("4.2.5", reserved_connections="1") == []


@pytest.mark.parametrize(
    ("version", "settings", "severity"),
    [
        ("1.20.1", {}, "warning"),
        ("1.21.0", {}, "warning"),
        ("1.23.1", {}, "warning"),
        ("1.23.1", {"max_prepared_statements": "100"}, None),
        ("1.24.0", {}, None),
        ("1.24.0", {"max_prepared_statements": "0"}, "warning"),
        (None, {}, "note"),
        (None, {"max_prepared_statements": "0"}, "warning"),
    ],
)
def test_prepared_statements_depend_on_version_and_setting(version, settings, severity):
    """They break before 1.21 always, from 1.21 on by default, and from 1.24 on only if disabled."""
    found = pgbouncer(version, pool_mode="transaction", **settings)
    texts = [cause.severity for cause in found if cause.code == "PreparedStatementsBreak"]

    assert texts == ([severity] if severity else [])


def test_session_mode_keeps_sessions():
    """Lost session state is reported only for pools in transaction or statement mode."""
    shared = pgbouncer("1.25.0", pool_mode="transaction")
    one_database = pgbouncer("1.25.0", (PooledDatabase(name="orders", mode="transaction"),), pool_mode="session")

    assert "SessionFeaturesLost" in codes(shared)
    assert "SessionFeaturesLost" in codes(one_database)
    assert pgbouncer("1.25.0", pool_mode="session") == []
    assert "advisory locks" in one(shared, "SessionFeaturesLost").text
    assert "LISTEN" in one(shared, "SessionFeaturesLost").text


@pytest.mark.parametrize(
    ("version", "settings", "code"),
    [
        ("1.25.0", {"server_reset_query": "DISCARD ALL"}, "ResetNeverRuns"),
        ("1.25.0", {"server_reset_query_always": "1"}, "ResetAlways"),
        ("1.21.0", {"server_reset_query_always": "1", "max_prepared_statements": "100"}, "ResetForgetsPrepared"),
        ("1.25.0", {}, "IdleTransactionsPinServers"),
    ],
)
def test_findings_of_transaction_mode(version: str, settings: dict, code: str):
    """A reset that never runs, one that always runs, one that forgets statements, and pinned servers."""
    assert code in codes(pgbouncer(version, pool_mode="transaction", **settings))
    assert code not in codes(pgbouncer(version, pool_mode="session", **settings))


def test_statement_mode_refuses_transactions():
    """BEGIN is an error there."""
    assert one(pgbouncer("1.25.0", pool_mode="statement"), "TransactionsRefused")


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


def test_dynamic_children_end_their_cached_backends():
    """In dynamic mode spare children end, whatever their time."""
    never = {"child_life_time": "0"}

    assert "CachedServersNeverEnd" in codes(pgpool("4.5.2", **never))
    assert "CachedServersNeverEnd" not in codes(pgpool("4.5.2", process_management_mode="dynamic", **never))


def test_a_pooler_that_saves_no_connection_is_found():
    """100 clients that may open 100 servers gain no connection."""
    databases = (PooledDatabase(name="a", size_max=100),)

    assert "NothingShared" in codes(pgbouncer("1.25.0", databases, max_client_conn="100"))
    assert pgbouncer("1.25.0", databases, max_client_conn="1000") == []


@pytest.mark.parametrize(
    "settings",
    [{"min_pool_size": "20"}, {"server_idle_timeout": "3600"}, {"query_timeout": "120"}, {"reserve_pool_size": "5"}],
    ids=str,
)
def test_settings_that_just_agree_are_sound(settings: dict):
    """Equal bounds contradict nothing."""
    assert pgbouncer("1.25.0", **settings) == []

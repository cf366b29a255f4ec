"""A small report of failovers, for tests of its forms. Invented numbers."""

from msgspec.structs import replace

from plimsoll_lab.model.failover import (
    FailoverReport,
    FailoverRound,
    Fault,
    PoolerView,
    ServicesView,
    Synchronous,
    WriteCounts,
)

POOLER = PoolerView(
    changes=("node2 down after 13.5 s", "node1 primary after 13.5 s", "node2 standby after 34.4 s"),
    states={"node1": "up, primary", "node2": "up, standby", "node3": "up, standby"},
    primary_found_s=13.5,
    refused_s=9.5,
    hung_s=2.5,
)
SERVICES = ServicesView(arrivals=165, done=160, failed={"connection": 4, "no_answer": 1}, retries=37, gap_s=15.1)
ROUND = FailoverRound(
    fault=Fault.KILL,
    from_node="node2",
    to_node="node1",
    no_write_s=14.8,
    healed_s=18.0,
    writes=WriteCounts(acknowledged=15_878, refused=38, unknown=16),
    problem=None,
    pooler=POOLER,
    services=SERVICES,
    errors={"server closed the connection unexpectedly": 31, "connection timeout expired": 19},
)
ROUNDS = (
    ROUND,
    replace(ROUND, fault=Fault.PARTITION, from_node="node1", to_node="node2", no_write_s=12.6),
    replace(
        ROUND,
        fault=Fault.SWITCHOVER,
        from_node="node2",
        to_node="node3",
        no_write_s=4.2,
        healed_s=9.3,
        pooler=replace(POOLER, changes=(), refused_s=0.0, hung_s=0.0),
        services=replace(SERVICES, failed={}),
        errors={},
    ),
)
UNHEALED = replace(
    ROUND,
    to_node=None,
    healed_s=None,
    problem="no other node took over from node2 within 180 s",
    pooler=replace(POOLER, states={}, primary_found_s=None),
)
"""A round after which nobody takes writes."""


def report(**other: object) -> FailoverReport:
    """Three rounds of strict replication, of which nothing was lost."""
    whole = FailoverReport(
        synchronous=Synchronous.STRICT,
        rounds=ROUNDS,
        round_count=3,
        writers=8,
        writes=WriteCounts(acknowledged=48_115, refused=81, unknown=44),
        lost=0,
        unknown_there=19,
        refused_there=0,
        services=replace(SERVICES, arrivals=495, done=480, retries=74),
        fleet="4 Java services with a HikariCP pool of 3 connections each",
        machine="2 processors, 23.5 GiB; 3 PostgreSQL under Patroni 3.0.2-1, Pgpool-II 4.3.5-1",
        servers="3 PostgreSQL under Patroni 3.0.2-1, Pgpool-II 4.3.5-1",
        notes=("All servers share this machine.",),
    )
    return replace(whole, **other)

"""
The incident as it was published, phase by phase.

Rule: connections are divided by the scale. Rates and queries are not. The pooler's times are divided by `TIME_RATIO`.
"""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from plimsoll_lab.experiments.phases import published
from plimsoll_lab.experiments.pooled_cluster.system import Fleet
from plimsoll_lab.model.experiment import PublishedPhase

NAME = "pooled-cluster"
TITLE = "Pooled cluster"
SOURCE = "the post 'Fine tuning Postgres to achieve 5,000 queries per second' (Ashnik, 2021)"
# 7,000 backends at three nodes do not fit into 24 GB; 700 do, and two processors open them within minutes.
SCALE = 10.0
SCALE_LEAST, SCALE_MOST = 5.0, 50.0
TARGET_PER_S = 150.0
"""Business transactions per second that the post wanted, of 30–35 queries each."""
QUERIES_WANTED_PER_S = 4_500.0
"""The lower of the two numbers of queries per second that the post reached."""
RATIO_WANTED = 5.0
"""A judgement: so many times the useful queries of the storm are worth the change to everyone."""
TIME_RATIO = 10.0
"""The pooler's life times and idle limits are divided by it."""
# The post counted more than 7,000 connections, of services whose number it does not give.
_CONNECTIONS, _SERVICES, _POOL = 7_000, 4, 25
# Children of the pooler for 4,000 clients: fewer than the pools want, so that the last ones are refused.
_CHILDREN = 4_000
_LONGER = 3.0
# A judgement: no storm of a phase makes a server that works answer later.
_CHECK_S = 60.0
_CALM_PER_S = 15.0
_LEFT_PER_S = 2.0
# Enough for the pools to grow, and done with before the phase is over.
_BURST_PER_S = 80.0


class Build(StrEnum):
    """A build of Pgpool-II."""

    UNMENDED = "unmended"
    """Without the fix of 2020-09-17."""
    FIXED = "fixed"
    PGBOUNCER = "pgbouncer"
    """PgBouncer in transaction mode, instead of Pgpool-II."""


class Expected(StrEnum):
    """What is true of the connections in a phase."""

    CALM = "calm"
    STORM = "storm"
    PILE_UP = "pile-up"
    NEVER_LET_GO = "never let go"
    LET_GO = "let go"
    SIZED = "sized"
    OTHER_POOLER = "sized, through the other pooler"
    DISK = "the disk binds"


class WaitsFor(StrEnum):
    """A state of the connections."""

    FULL = "the pooler is full"
    QUIET = "the clients have left"
    FILLED = "the pools have their idle connections"


class PooledPhase(Struct, frozen=True, kw_only=True):
    """One phase: what changes at its beginning, and what is true of it."""

    name: str
    title: str
    action: str
    seconds: float
    rate: float
    """Business transactions that arrive per second."""
    build: Build = Build.UNMENDED
    life_s: float = 60.0
    """`connection_life_time` as published, before it is divided by `TIME_RATIO`."""
    expected: Expected
    changes: Mapping[str, object] = {}
    """Settings of the services."""
    waits_for: WaitsFor | None = None
    """What must be so before the phase is watched, on a machine however slow."""
    burst_rate: float = 0.0
    """Arrivals for some seconds before the phase, where the services have just started; 0 for none."""
    is_sized: bool = False
    """Whether pools are those that `pool-size` computes."""
    published: tuple[PublishedPhase, ...] = ()


def fleet_of(scale: float) -> Fleet:
    """Return the services whose pools together are 7,000 connections, divided by the scale."""
    instances = max(round(_CONNECTIONS / scale / _SERVICES / _POOL), 1)
    return Fleet(
        services=_SERVICES,
        instances=instances,
        pool=_POOL,
        settings={
            "min_idle": 2,
            "idle_timeout_s": 10,
            "connection_timeout_s": 5,
            "answer_s": 5,
            "queue": 20,
            "hold_ms": 0,
            "think_ms": 5,
        },
    )


def children_of(scale: float) -> int:
    """Return the most clients of the pooler, `num_init_children`."""
    return max(round(_CHILDREN / scale), 20)


def pooler_settings(life_s: float, scale: float) -> dict[str, str]:
    """
    Return the published settings of Pgpool-II, with its times divided by `TIME_RATIO`.

    Args:
        life_s: `connection_life_time` as published.
        scale: of the connections.
    """
    return {
        "num_init_children": str(children_of(scale)),
        "max_pool": "1",
        # Clients beyond the children are refused at once, as in the post, instead of waiting.
        "reserved_connections": "1",
        "serialize_accept": "on",
        "client_idle_limit": f"{120 / TIME_RATIO:.0f}",
        "child_life_time": "0",
        "connection_life_time": f"{max(life_s / TIME_RATIO, 1):.0f}",
        "child_max_connections": "10",
        # No node fails in this incident: one that answers late in a storm stays in use.
        "health_check_timeout": f"{_CHECK_S:.0f}",
        "health_check_max_retries": "10",
        "failover_on_backend_error": "off",
    }


def bouncer_settings(servers: int, scale: float) -> dict[str, str]:
    """
    Return the settings of PgBouncer: transaction mode, and as many server connections as the machine runs well.

    Args:
        servers: most connections to the server.
        scale: of the connections of clients.
    """
    return {"pool_mode": "transaction", "max_client_conn": str(children_of(scale)), "default_pool_size": str(servers)}


def phases_of(*, is_quick: bool) -> tuple[PooledPhase, ...]:
    """
    Return the phases in order.

    Args:
        is_quick: as short as the verdicts allow; otherwise three times as long.
    """
    longer = 1.0 if is_quick else _LONGER
    return tuple(replace(phase, seconds=phase.seconds * longer) for phase in _PHASES)


_STORM = {"retry": "immediate", "retries": 3}
_LATER = {"retry": "backoff", "retries": 3}
_PHASES = (
    PooledPhase(
        name="calm",
        title="Calm",
        action="Few business transactions arrive.",
        seconds=15,
        rate=_CALM_PER_S,
        expected=Expected.CALM,
        published=published(connections="500–600", latency="below 100 ms"),
    ),
    PooledPhase(
        name="storm",
        title="Arrivals rise",
        action="Arrivals rise to the target; clients that fail try again at once.",
        seconds=20,
        rate=TARGET_PER_S,
        changes=_STORM,
        expected=Expected.STORM,
        published=published(connections="from 1,000 to 2,500 in 10–15 s, then more than 7,000", load="3,000"),
    ),
    PooledPhase(
        name="pile-up",
        title="Pile-up",
        action="Arrivals stay as they are.",
        seconds=20,
        rate=TARGET_PER_S,
        changes=_STORM,
        waits_for=WaitsFor.FULL,
        expected=Expected.PILE_UP,
        published=published(
            connections="5,000 active, 1,000 idle, 500 idle in transaction", refused="Sorry, too many clients already"
        ),
    ),
    PooledPhase(
        name="clients-leave",
        title="Clients leave",
        action="Arrivals almost end, and the pools of the services close what they do not need.",
        seconds=20,
        rate=_LEFT_PER_S,
        changes=_LATER,
        waits_for=WaitsFor.QUIET,
        expected=Expected.NEVER_LET_GO,
        published=published(connections="stay idle for ever, although they may live 60 s"),
    ),
    PooledPhase(
        name="fixed-pooler",
        title="Fixed pooler",
        action="The pooler with the fix takes the place of the other; a burst of arrivals comes and leaves.",
        seconds=20,
        rate=_LEFT_PER_S,
        build=Build.FIXED,
        changes=_LATER,
        waits_for=WaitsFor.QUIET,
        burst_rate=_BURST_PER_S,
        expected=Expected.LET_GO,
        published=published(connections="end after connection_life_time"),
    ),
    PooledPhase(
        name="shorter-life",
        title="Shorter life",
        action="connection_life_time is 30 instead of 60.",
        seconds=15,
        rate=_LEFT_PER_S,
        build=Build.FIXED,
        life_s=30.0,
        changes=_LATER,
        waits_for=WaitsFor.QUIET,
        burst_rate=_BURST_PER_S,
        expected=Expected.LET_GO,
    ),
    PooledPhase(
        name="sized-pools",
        title="Sized pools",
        action="The pools are those that pool-size computes, with short queues, and the target arrives.",
        seconds=25,
        rate=TARGET_PER_S,
        build=Build.FIXED,
        life_s=30.0,
        # What is queued for longer than a client waits is work for nobody.
        changes={**_LATER, "queue": 3},
        is_sized=True,
        expected=Expected.SIZED,
        published=published(connections="900–1,100", queries="4,500–5,000 per second", transactions="≈ 150 per second"),
    ),
    PooledPhase(
        name="pgbouncer",
        title="PgBouncer instead",
        action="PgBouncer in transaction mode takes the place of Pgpool-II; pools and arrivals stay as they are.",
        seconds=25,
        rate=TARGET_PER_S,
        build=Build.PGBOUNCER,
        changes={**_LATER, "queue": 3},
        is_sized=True,
        expected=Expected.OTHER_POOLER,
    ),
)

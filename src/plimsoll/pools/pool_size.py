"""
Pools of services × containers against `max_connections`, and against what the machine can run.

The two bounds are different things: `max_connections` refuses, a machine with too many sessions at work
only gets slower, and all of them with it. A connection that lies idle costs little; a pool is an upper
bound, and after a stall all of it is at work at once.
"""

from math import floor

from plimsoll.catalog.load import Catalog
from plimsoll.model.pool_size import (
    Basis,
    PoolSizing,
    PoolVerdict,
    RecommendedPool,
    ServerCapacity,
    Service,
)
from plimsoll.pools.concurrency import erlang_sessions, little
from plimsoll.units import format_bytes, format_latency, number

# PostgreSQL wiki, "Number Of Database Connections" (read 2026-11-20): about 2 × cores, hyperthreads
# not counted, and more only for spinning disks. A vCPU is at most a core.
SESSIONS_PER_VCPU = 2
# Connections kept free of what the server takes: rolling deployments run old and new containers beside
# each other, and somebody must still get in when it hurts.
SPARE_RATIO = 0.1
# What PostgreSQL reserves for superusers unless it is set otherwise (superuser_reserved_connections).
RESERVED = 3
# Current families of burstable, balanced and large-memory classes; others have their like among them.
_FAMILIES = ("db.t4g", "db.m7g", "db.r7g")
# Sessions at work below which a load is none. A judgement.
_BUSY_LEAST = 0.1


def size_pools(services: tuple[Service, ...], room: ServerCapacity) -> PoolSizing:
    """
    Hold the sum of all pools against the server and the machine, and divide what there is.

    Args:
        services: one at least, each with one container at least.
        room: what is known of server and machine.
    """
    assert services
    connections = sum(service.connections for service in services)
    runs, basis = _runs(room)
    target = _target(room, runs)
    return PoolSizing(
        services=services,
        room=room,
        connections=connections,
        runs=runs,
        basis=basis,
        verdict=_verdict(connections, room, runs),
        target=target,
        recommended=() if target is None else _divided(services, target),
        needs_pooler=target is not None and target < sum(s.containers for s in services),
        notes=_notes(room, runs, basis),
    )


def class_notes(connections: int, others: int, catalog: Catalog) -> tuple[str, ...]:
    """
    Return which classes of RDS for PostgreSQL take so many connections by default.

    Args:
        connections: all pools together.
        others: connections of everybody else.
        catalog: memory and vCPUs of classes, and the default of max_connections.
    """
    rule = catalog.connection_rule("postgres", None)
    if rule is None or rule.memory_bytes_per_connection is None:
        return ()
    needed = connections + others + RESERVED
    notes = []
    for family in _FAMILIES:
        known = [
            catalog.instance_limits(name)
            for name in catalog.classes()
            if name.startswith(f"{family}.")
        ]
        sized = sorted(
            ((one.memory_bytes, one) for one in known if one.memory_bytes), key=lambda at: at[0]
        )
        for memory_bytes, limits in sized:
            # The system's own share of the memory is not published: this is an upper bound.
            count = floor(memory_bytes / rule.memory_bytes_per_connection)
            takes = min(count, rule.connections_max or count)
            if takes < needed:
                continue
            runs = ""
            if limits.vcpu_count:
                at_work = SESSIONS_PER_VCPU * limits.vcpu_count
                runs = (
                    f"; its {limits.vcpu_count} vCPUs run about {at_work:,} sessions at work, so "
                    f"{number(connections / at_work, 2)} connections share each of them"
                )
            notes.append(
                f"{limits.db_class} ({format_bytes(memory_bytes)}, up to {takes:,} by default) is the "
                f"first of {family} that takes {needed:,} connections{runs}"
            )
            break
        else:
            notes.append(f"no class of {family} takes {needed:,} connections by default")
    return tuple(notes)


def _containers(service: Service) -> str:
    return "1 container" if service.containers == 1 else f"{service.containers:,} containers"


def _sessions(busy: float) -> str:
    count = erlang_sessions(busy)
    return "1 session" if count == 1 else f"{count} sessions"


def _runs(room: ServerCapacity) -> tuple[int | None, Basis]:
    """N95 where throughput was measured; else the rule of thumb."""
    curve = room.curve
    if curve is not None:
        basis = Basis.EXTRAPOLATED if curve.is_extrapolated else Basis.MEASURED
        return curve.n95, Basis.CEILING if curve.is_pegged else basis
    if room.vcpu_count is not None:
        return SESSIONS_PER_VCPU * room.vcpu_count, Basis.RULE
    return None, Basis.UNKNOWN


def _target(room: ServerCapacity, runs: int | None) -> int | None:
    bounds = [runs] if runs is not None else []
    if room.usable is not None:
        bounds.append(floor(room.usable * (1 - SPARE_RATIO)))
    return max(min(bounds), 1) if bounds else None


def _verdict(connections: int, room: ServerCapacity, runs: int | None) -> PoolVerdict:
    if room.usable is not None and connections > room.usable:
        return PoolVerdict.EXCEEDS_CONNECTIONS
    if runs is not None and connections > runs:
        return PoolVerdict.EXCEEDS_MACHINE
    return PoolVerdict.UNKNOWN if room.usable is None and runs is None else PoolVerdict.FITS


def _divided(services: tuple[Service, ...], target: int) -> tuple[RecommendedPool, ...]:
    """To each service in proportion to what it asked for, to its containers alike, one at least."""
    asked = sum(service.connections for service in services)
    found = []
    for service in services:
        share = target * service.connections / asked if asked else 0.0
        each = share / service.containers
        pool = min(max(floor(each), 1), service.pool)
        arithmetic = (
            f"{target:,} × {service.connections:,} / {asked:,} = {number(share, 3)} for the service;"
            f" {number(share, 3)} / {_containers(service)} = {number(each, 3)}"
        )
        if pool == service.pool:
            arithmetic += f", as it is ({pool})"
        elif each < 1:
            arithmetic += ", but one is the least"
        found.append(RecommendedPool(service=service, pool=pool, arithmetic=arithmetic))
    return tuple(found)


def _notes(room: ServerCapacity, runs: int | None, basis: Basis) -> tuple[str, ...]:
    notes = []
    curve = room.curve
    if basis is Basis.RULE:
        notes.append(
            f"{SESSIONS_PER_VCPU} sessions at work per vCPU is a rule of thumb (PostgreSQL wiki, Number Of"
            " Database Connections, read 2026-11-20), not a measurement; verify it with pgbench"
        )
    if curve is not None and basis is Basis.EXTRAPOLATED:
        notes.append(
            f"extrapolated: at most {number(curve.busy_seen_max, 3)} sessions were seen at work, less than"
            f" 1.2 × {curve.n95}; verify it with pgbench at {curve.n95} and {2 * curve.n95} clients"
        )
    if basis is Basis.CEILING:
        notes.append(
            "storage was at its ceiling while throughput was measured, so the knee comes from storage;"
            " measure again below the ceiling"
        )
    if room.busy is not None and room.busy < _BUSY_LEAST:
        notes.append(
            f"only {number(room.busy, 2)} sessions were active while watched, too few to size pools;"
            " watch a busy hour, --for 10m"
        )
    elif room.busy is not None and room.per_s:
        held = format_latency(little(room.busy, room.per_s))
        notes.append(
            f"Little's law: {number(room.busy, 3)} at work / {number(room.per_s, 3)} transactions per s"
            f" = {held} each; this load, with at most 1 % waiting, takes {_sessions(room.busy)}"
        )
    if runs is None:
        notes.append("what the machine can run is not known: give --vcpus, --point or --dsn")
    if room.connection_max is None:
        notes.append("max_connections is not known: give --max-connections or --dsn")
    return tuple(notes)

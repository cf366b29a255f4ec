"""
Compare pools of services × containers with `max_connections` and with what the machine can run.

The two bounds differ: the server refuses connections above `max_connections`; too many active sessions
slow down each other. An idle connection costs little. A pool is an upper bound, but after a stall all its
connections are active at once.
"""

from math import ceil, floor

from plimsoll.catalog.load import Catalog
from plimsoll.model.pool_size import Basis, PoolSizing, PoolVerdict, RecommendedPool, ServerCapacity, Service
from plimsoll.model.postgres import SUPERUSER_RESERVED
from plimsoll.pools.concurrency import erlang_sessions, mean_duration_s, throughput
from plimsoll.units import format_bytes, format_latency, number

# PostgreSQL wiki, "Number Of Database Connections" (read 2026-11-20): about 2 × cores, hyperthreads
# not counted, and more only for spinning disks. A vCPU is at most one core.
SESSIONS_PER_VCPU = 2
# The share of the server's connections kept free. A judgement: a rolling deployment runs old and new
# containers at the same time, and an administrator must still be able to connect.
SPARE_RATIO = 0.1
# A judgement: throughput is flat near its maximum, so a tenth less may be given up for much smaller pools.
ROUNDED_RATIO = 0.9
# A judgement: less than that is not worth a word.
_TAKEN_MIN = 1.05
# Current families of burstable, general-purpose and memory-optimized classes. Other families have similar
# memory per vCPU.
_FAMILIES = ("db.t4g", "db.m7g", "db.r7g")
# A judgement: with fewer active sessions the load is too small to size a pool.
_BUSY_LEAST = 0.1


def size_pools(services: tuple[Service, ...], server: ServerCapacity) -> PoolSizing:
    """
    Check the total of all pools against server and machine, and divide their capacity among the services.

    Args:
        services: at least one, each with at least one container.
        server: what is known about server and machine.
    """
    assert services
    connections = sum(service.connections for service in services)
    runs, basis = _sessions_run_well(server)
    target = _target(server, runs)
    return PoolSizing(
        services=services,
        room=server,
        connections=connections,
        runs=runs,
        basis=basis,
        verdict=_verdict(connections, server, runs),
        target=target,
        recommended=() if target is None else _divide(services, target, server),
        needs_pooler=target is not None and target < sum(s.containers for s in services),
        notes=_notes(server, runs, basis),
    )


def class_notes(connections: int, others: int, catalog: Catalog) -> tuple[str, ...]:
    """
    Return the smallest RDS for PostgreSQL classes whose default max_connections is large enough.

    Args:
        connections: the total of all pools.
        others: connections of other clients.
        catalog: memory and vCPUs of classes, and the default of max_connections.
    """
    rule = catalog.connection_rule("postgres", None)
    if rule is None or rule.memory_bytes_per_connection is None:
        return ()
    needed = connections + others + SUPERUSER_RESERVED
    notes = []
    for family in _FAMILIES:
        known = [catalog.instance_limits(name) for name in catalog.classes() if name.startswith(f"{family}.")]
        sized = sorted(((one.memory_bytes, one) for one in known if one.memory_bytes), key=lambda at: at[0])
        for memory_bytes, limits in sized:
            # The formula uses DBInstanceClassMemory, the class's memory less the system's part. That part
            # is not published, so this is an upper bound.
            count = floor(memory_bytes / rule.memory_bytes_per_connection)
            takes = min(count, rule.connections_max or count)
            if takes < needed:
                continue
            runs = ""
            if limits.vcpu_count:
                active = SESSIONS_PER_VCPU * limits.vcpu_count
                runs = (
                    f"; its {limits.vcpu_count} vCPUs run about {active:,} active sessions well: "
                    f"{number(connections / active, 2)} connections for each"
                )
            notes.append(
                f"{limits.db_class} ({format_bytes(memory_bytes)}, up to {takes:,} by default) is the "
                f"smallest {family} class that accepts {needed:,} connections{runs}"
            )
            break
        else:
            notes.append(f"no {family} class accepts {needed:,} connections by default")
    return tuple(notes)


def _containers(service: Service) -> str:
    return "1 container" if service.containers == 1 else f"{service.containers:,} containers"


def _sessions(busy: float) -> str:
    count = erlang_sessions(busy)
    return "1 session" if count == 1 else f"{count} sessions"


def _sessions_run_well(server: ServerCapacity) -> tuple[int | None, Basis]:
    """Return N95 if throughput was measured, else the rule of thumb, and which of them it is."""
    curve = server.curve
    if curve is not None:
        basis = Basis.EXTRAPOLATED if curve.is_extrapolated else Basis.MEASURED
        return curve.n95, Basis.CEILING if curve.is_pegged else basis
    if server.vcpu_count is not None:
        return SESSIONS_PER_VCPU * server.vcpu_count, Basis.RULE
    return None, Basis.UNKNOWN


def _target(server: ServerCapacity, runs: int | None) -> int | None:
    bounds = [] if runs is None else [server.connections_for(runs)]
    if server.usable is not None:
        bounds.append(_most(server.usable))
    return max(min(bounds), 1) if bounds else None


def _most(usable: int) -> int:
    """Return the connections that pools may take of those that the server has for them."""
    return floor(usable * (1 - SPARE_RATIO))


def _verdict(connections: int, server: ServerCapacity, runs: int | None) -> PoolVerdict:
    if server.usable is not None and connections > server.usable:
        return PoolVerdict.EXCEEDS_CONNECTIONS
    if runs is not None and connections > runs:
        return PoolVerdict.EXCEEDS_MACHINE
    return PoolVerdict.UNKNOWN if server.usable is None and runs is None else PoolVerdict.FITS


def _divide(services: tuple[Service, ...], target: int, server: ServerCapacity) -> tuple[RecommendedPool, ...]:
    """
    Divide the target in proportion to the current pools; each container has at least 1 connection.

    Pools are whole numbers, so together they are rarely the target. Of the allocations that round all parts down, to the
    nearest, or up, it is the smallest with enough throughput.
    """
    asked = sum(service.connections for service in services)
    shares = [target * one.connections / asked if asked else 0.0 for one in services]
    found: dict[int, list[int]] = {}
    for rounded in (floor, _nearest, ceil):
        pools = [
            min(max(rounded(share / one.containers), 1), one.pool) for one, share in zip(services, shares, strict=True)
        ]
        total = sum(pool * one.containers for pool, one in zip(pools, services, strict=True))
        found.setdefault(total, pools)
    pools = found[_total_of(sorted(found), target, server)]
    return tuple(
        RecommendedPool(service=one, pool=pool, arithmetic=_arithmetic(one, target, asked, share, pool))
        for one, share, pool in zip(services, shares, pools, strict=True)
    )


def _total_of(totals: list[int], target: int, server: ServerCapacity) -> int:
    """Return which of some totals to take, given the smallest first; never more than the server has for them."""
    usable = server.usable
    fits = [one for one in totals if usable is None or one <= _most(usable)] or totals[:1]
    curve = server.curve
    if curve is None:
        # By ratio, because twice as many are as far from it as half as many.
        return min(fits, key=lambda total: max(total / target, target / total))
    ratio = max(server.taken_ratio or 1.0, 1.0)
    done = {total: throughput(curve, max(total / ratio, 1.0)) for total in fits}
    enough = [total for total in fits if done[total] >= ROUNDED_RATIO * curve.most_per_s]
    return enough[0] if enough else max(fits, key=lambda total: done[total])


def _nearest(value: float) -> int:
    return floor(value + 0.5)


def _arithmetic(service: Service, target: int, asked: int, share: float, pool: int) -> str:
    each = share / service.containers
    text = (
        f"{target:,} × {service.connections:,} / {asked:,} = {number(share, 3)} for the service;"
        f" {number(share, 3)} / {_containers(service)} = {number(each, 3)}"
    )
    if pool == service.pool:
        return f"{text}; the current pool of {pool} is kept"
    if each < 1:
        return f"{text}; the minimum is 1"
    if pool == each:
        return text
    return f"{text}, rounded {'up' if pool > each else 'down'}"


def _notes(server: ServerCapacity, runs: int | None, basis: Basis) -> tuple[str, ...]:
    notes = []
    curve = server.curve
    if basis is Basis.RULE:
        notes.append(
            f"{SESSIONS_PER_VCPU} active sessions per vCPU is a rule of thumb (PostgreSQL wiki, Number Of"
            " Database Connections, read 2026-11-20), not a measurement; verify it with pgbench"
        )
    if curve is not None and basis is Basis.EXTRAPOLATED:
        notes.append(
            f"extrapolated: at most {number(curve.busy_seen_max, 3)} active sessions were measured, less than"
            f" 1.2 × {curve.n95}; verify it with pgbench at {curve.n95} and {2 * curve.n95} clients"
        )
    if basis is Basis.CEILING:
        notes.append(
            "storage was at its ceiling while throughput was measured, so the curve shows the storage limit;"
            " measure again below the ceiling"
        )
    if server.busy is not None and server.busy < _BUSY_LEAST:
        notes.append(
            f"only {number(server.busy, 2)} sessions were active on average, too few to size pools;"
            " measure during a busy hour, for example with --for 10m"
        )
    elif server.busy is not None and server.per_s:
        duration = format_latency(mean_duration_s(server.busy, server.per_s))
        notes.append(
            f"Little's law: {number(server.busy, 3)} active sessions / {number(server.per_s, 3)} transactions"
            f" per s = {duration} each; with {_sessions(server.busy)}, at most 1 % of this load would wait"
        )
    ratio = server.taken_ratio
    if runs is not None and ratio is not None and ratio >= _TAKEN_MIN:
        notes.append(
            f"transactions held {number(ratio, 2)} connections for each session that ran a statement, because they are also"
            f" open between their statements; so {runs:,} sessions at work need {server.connections_for(runs):,} connections"
        )
    if runs is None:
        notes.append("what the machine can run is unknown: give --vcpus, --point or --dsn")
    if server.connection_max is None:
        notes.append("max_connections is unknown: give --max-connections or --dsn")
    return tuple(notes)

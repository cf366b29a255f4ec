"""`plimsoll pool-size`: check the pools of several services against one server."""

import re
from typing import Annotated

import typer
from msgspec import Struct
from msgspec.structs import replace

from plimsoll.app.moments import seconds_of
from plimsoll.app.options import Option
from plimsoll.cli.option_groups import expand
from plimsoll.cli.output import WIDTH_OF_PAIRS, Output, output_options
from plimsoll.errors import UsageError
from plimsoll.model.pool_size import LoadPoint, PoolVerdict, ServerCapacity, Service
from plimsoll.model.postgres import SUPERUSER_RESERVED

_SERVICE = re.compile(r"(?P<name>[^=]+)=(?P<containers>\d{1,6})x(?P<pool>\d{1,6})")
_POINT = re.compile(r"(?P<busy>\d+(?:\.\d+)?):(?P<per_s>\d+(?:\.\d+)?)")


_SERVICES_PANEL = "Services"
_SERVER_PANEL = "Server"


class PoolOptions(Struct, frozen=True, kw_only=True):
    """The options of one command line."""

    services: Annotated[int, Option("--services N", _SERVICES_PANEL, min=0)] = 0
    """Number of services with the same pools."""
    containers: Annotated[int, Option("--containers N", _SERVICES_PANEL, min=1)] = 1
    """Containers of each service."""
    pool: Annotated[int, Option("--pool N", _SERVICES_PANEL, min=1)] = 10
    """Maximum connections of each container's pool."""
    named: Annotated[tuple[str, ...], Option("--service NAME=CxP", _SERVICES_PANEL)] = ()
    """A service with C containers and pools of P connections, for example orders=4x20. Repeatable."""
    dsn: Annotated[str | None, Option("--dsn DSN", _SERVER_PANEL, envvar="PLIMSOLL_DSN")] = None
    """
    Read max_connections and the load from this server. Keep a password in PLIMSOLL_DSN, PGPASSWORD or ~/.pgpass.
    """
    duration: Annotated[str, Option("--for TIME", _SERVER_PANEL)] = "30s"
    """Watch the load of --dsn for this long."""
    max_connections: Annotated[int | None, Option("--max-connections N", _SERVER_PANEL, min=1)] = None
    """max_connections of the server."""
    reserved: Annotated[int | None, Option("--reserved N", _SERVER_PANEL, min=0)] = None
    """Number of these connections that are reserved for superusers (default: 3)."""
    others: Annotated[int, Option("--others N", _SERVER_PANEL, min=0)] = 0
    """Connections of all other clients."""
    vcpus: Annotated[int | None, Option("--vcpus N", _SERVER_PANEL, min=1)] = None
    """vCPUs of the server."""
    db_class: Annotated[str | None, Option("--class CLASS", _SERVER_PANEL)] = None
    """Instance class, for example db.r5.2xlarge: its vCPUs are looked up."""
    points: Annotated[tuple[str, ...], Option("--point N:TPS", _SERVER_PANEL)] = ()
    """
    Measured transactions per second at N busy sessions, for example from pgbench -c N. Repeatable.
    """
    output: Annotated[Output, output_options(WIDTH_OF_PAIRS)]


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command("pool-size")(expand(pool_size))


def pool_size(options: PoolOptions) -> int:
    """
    Check the total of all pools against max_connections and what the machine can run.

    When no server is described, it prints the total and the RDS classes that accept it by default.

    Exit status: 0 the pools fit, or no server was described; 1 they do not fit; 2 too little is known about
    the server, or bad input.
    """
    from plimsoll.pools.pool_size import size_pools

    asked = _services(options)
    points = tuple(_point(text) for text in options.points)
    dsn, max_connections, vcpus, db_class = options.dsn, options.max_connections, options.vcpus, options.db_class
    room = _of_server(dsn, options.duration, points) if dsn else _room(points)
    given = {"connection_max": max_connections, "reserved": options.reserved, "vcpu_count": vcpus or _vcpus(db_class)}
    room = replace(room, others=options.others, **{k: v for k, v in given.items() if v is not None})
    sizing = size_pools(asked, room)
    is_named = bool(points) or any(value is not None for value in (dsn, max_connections, vcpus, db_class))
    if not is_named:
        from plimsoll.catalog.load import catalog
        from plimsoll.pools.pool_size import class_notes

        notes = class_notes(sizing.connections, options.others, catalog())
        sizing = replace(sizing, notes=(*notes, *sizing.notes))
    options.output.write(sizing)
    if not is_named:
        return 0
    return {PoolVerdict.FITS: 0, PoolVerdict.UNKNOWN: 2}.get(sizing.verdict, 1)


def _services(options: PoolOptions) -> tuple[Service, ...]:
    count, named = options.services, options.named
    if count > 10_000 or len(named) > 10_000:
        raise UsageError("more than 10,000 services were given", "Give those of one server only.")
    found = [
        Service(name=f"service {n}", containers=options.containers, pool=options.pool) for n in range(1, count + 1)
    ]
    if count == 1:
        found = [replace(found[0], name="the service")]
    for text in named:
        match = _SERVICE.fullmatch(text)
        if match is None or not int(match["containers"]) or not int(match["pool"]):
            raise UsageError(
                f"service '{text}' is not NAME=CxP", "Write orders=4x20 for 4 containers with pools of 20."
            )
        found.append(Service(name=match["name"], containers=int(match["containers"]), pool=int(match["pool"])))
    if not found:
        raise UsageError(
            "no service was given", "Give --services 12 --containers 4 --pool 20, or --service orders=4x20 for each."
        )
    return tuple(found)


def _point(text: str) -> LoadPoint:
    match = _POINT.fullmatch(text)
    if match is None or not float(match["busy"]) or not float(match["per_s"]):
        raise UsageError(
            f"point '{text}' is not N:TPS", "Write 8:2100 for 2,100 transactions per second at 8 sessions."
        )
    return LoadPoint(busy=float(match["busy"]), per_s=float(match["per_s"]))


def _room(points: tuple[LoadPoint, ...]) -> ServerCapacity:
    from plimsoll.pools.concurrency import fit_curve

    curve = fit_curve(points)
    if points and curve is None:
        raise UsageError(
            "no curve fits these points: there are fewer than three session counts, or they are too close",
            "Measure at 1, 2, 4, 8, 16 and 32 sessions, for example with pgbench -c N.",
        )
    return ServerCapacity(curve=curve, reserved=SUPERUSER_RESERVED)


def _vcpus(db_class: str | None) -> int | None:
    if db_class is None:
        return None
    from plimsoll.catalog.load import catalog

    return catalog().instance_limits(db_class).vcpu_count


def _of_server(dsn: str, duration: str, points: tuple[LoadPoint, ...]) -> ServerCapacity:
    """Read capacity and load from a server; a curve of measured points replaces the observed one."""
    from plimsoll.causes.budget import budget_of
    from plimsoll.causes.connections import sessions as seen
    from plimsoll.causes.connections.work import curve_of
    from plimsoll.sources.postgres.parts import ReadingPart
    from plimsoll.sources.postgres.read import observe

    wants = frozenset({ReadingPart.SESSIONS})
    observation = observe(dsn, duration_s=seconds_of(duration, "--for"), wants=wants)
    server = observation.server
    curve = _room(points).curve or curve_of(observation, budget_of(observation))
    return ServerCapacity(
        connection_max=server.connection_max,
        reserved=server.reserved_connections,
        vcpu_count=server.vcpu_count,
        curve=curve,
        busy=seen.busy_between(observation.glances),
        per_s=seen.transactions_per_s(observation),
        taken_ratio=seen.taken_ratio(observation.glances),
    )
